// Makes the user of a token from its claims, by the rules of its issuer. The texts of errors are those
// of kube-apiserver's log.

import type { UserInfo } from '../../request.ts';
import {
  ClaimError,
  type Claims,
  checkRequired,
  credentialId,
  groupsOf,
  nameOf,
  stringClaim,
} from './claims.ts';
import {
  claimsActivation,
  compileTokenExpression,
  evaluate,
  type TokenExpression,
  TokenExpressionError,
  userActivation,
} from './expressions.ts';
import type { ClaimSource, JwtSettings, ValidationRule } from './settings.ts';

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

type Activation = Readonly<Record<string, unknown>>;

/** A compiled source: a claim, or an expression. */
type Source = Extract<ClaimSource, { readonly claim: string }> | TokenExpression;

interface Rule extends TokenExpression {
  readonly message: string;
}

export class UserMapping {
  readonly #requiredClaims: Readonly<Record<string, string>>;
  readonly #username: Source;
  readonly #groups: Source | undefined;
  readonly #uid: Source | undefined;
  readonly #extra: readonly (TokenExpression & { readonly key: string })[];
  readonly #claimRules: readonly Rule[];
  readonly #userRules: readonly Rule[];

  /** Throws Error for an expression that does not compile. */
  constructor(settings: JwtSettings) {
    const { username, groups, uid, extra, claimRules, userRules } = settings;
    this.#requiredClaims = settings.requiredClaims;
    this.#username = sourceOf(username);
    this.#groups = groups && sourceOf(groups);
    this.#uid = uid && sourceOf(uid);
    this.#extra = extra.map(({ key, expression }) => ({ key, ...compiled(expression) }));
    this.#claimRules = claimRules.map((rule) => ruleOf(rule, 'claims'));
    this.#userRules = userRules.map((rule) => ruleOf(rule, 'user'));
  }

  /** Returns the user. Rejects with ClaimError if the claims do not identify one. */
  async userOf(claims: Claims): Promise<UserInfo> {
    const activation = claimsActivation(claims);
    const name = await this.#nameOf(claims, activation);
    const groups = await this.#groupsOf(claims, activation);
    const uid = await this.#uidOf(claims, activation);
    const extra = await this.#extraOf(claims, activation);
    checkRequired(claims, this.#requiredClaims);
    await check(this.#claimRules, activation, 'claim validation expression');
    const user = {
      name,
      groups,
      ...(uid !== '' && { uid }),
      ...(Object.keys(extra).length > 0 && { extra }),
    };
    if (this.#userRules.length > 0)
      await check(this.#userRules, userActivation(user), 'user info validation rule');
    return user;
  }

  async #nameOf(claims: Claims, activation: Activation): Promise<string> {
    const source = this.#username;
    if ('claim' in source) return `${source.prefix}${nameOf(claims, source.claim)}`;
    const what = 'username claim expression';
    const name = await result(source, activation, what);
    if (typeof name !== 'string') throw failure(what, `${what} must return a string`);
    if (name === '') throw new ClaimError('oidc: empty username via CEL expression is not allowed');
    return name;
  }

  async #groupsOf(claims: Claims, activation: Activation): Promise<readonly string[]> {
    const source = this.#groups;
    if (source === undefined) return [];
    if ('claim' in source)
      return groupsOf(claims, source.claim).map((group) => `${source.prefix}${group}`);
    const what = 'group claim expression';
    return textsOf(await result(source, activation, what), what);
  }

  async #uidOf(claims: Claims, activation: Activation): Promise<string> {
    const source = this.#uid;
    if (source === undefined) return '';
    if ('claim' in source) return stringClaim(claims, source.claim, 'uid claim');
    const what = 'uid claim expression';
    const uid = await result(source, activation, what);
    if (typeof uid !== 'string') throw failure(what, `${what} must return a string`);
    return uid;
  }

  async #extraOf(
    claims: Claims,
    activation: Activation,
  ): Promise<Readonly<Record<string, readonly string[]>>> {
    const id = credentialId(claims);
    const extra = new Map<string, readonly string[]>();
    if (id !== undefined) extra.set(CREDENTIAL_ID, [id]);
    for (const source of this.#extra) {
      const what = `extra claim expression: ${source.source}`;
      const values = textsOf(await result(source, activation, what), what);
      if (values.length > 0) extra.set(source.key, values);
    }
    return Object.fromEntries(extra);
  }
}

function sourceOf(source: ClaimSource): Source {
  return 'claim' in source ? source : compiled(source.expression);
}

function compiled(
  source: string,
  variable: 'claims' | 'user' = 'claims',
  isRule = false,
): TokenExpression {
  const { expression, problem } = compileTokenExpression(source, variable, isRule);
  if (expression === undefined) throw new Error(`${source}: ${problem}`);
  return expression;
}

function ruleOf({ expression, message }: ValidationRule, variable: 'claims' | 'user'): Rule {
  return { ...compiled(expression, variable, true), message };
}

/** Checks that all rules are true. Rejects with ClaimError. */
async function check(rules: readonly Rule[], activation: Activation, what: string): Promise<void> {
  const results: { readonly rule: Rule; readonly value: unknown }[] = [];
  for (const rule of rules) results.push({ rule, value: await result(rule, activation, what) });
  for (const { rule, value } of results) {
    if (typeof value !== 'boolean')
      throw failure(what, 'validation expression must return a boolean');
    if (!value)
      throw failure(what, `validation expression '${rule.source}' failed: ${rule.message}`);
  }
}

async function result(
  expression: TokenExpression,
  activation: Activation,
  what: string,
): Promise<unknown> {
  try {
    return await evaluate(expression, activation);
  } catch (error) {
    if (error instanceof TokenExpressionError) throw failure(what, error.message);
    throw error;
  }
}

/** Returns one text or several, without empty ones. null is none. Throws ClaimError. */
function textsOf(value: unknown, what: string): readonly string[] {
  if (value === null) return [];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!values.every((each) => typeof each === 'string'))
    throw failure(what, 'expression must return a string or a list of strings');
  return values.filter((each) => each !== '');
}

const failure = (what: string, why: string): ClaimError =>
  new ClaimError(`oidc: error evaluating ${what}: ${why}`);
