// The CEL expressions about tokens: over their claims, and over the user that these make. Types and
// messages are upstream's (apiserver pkg/authentication/cel).

import {
  AbstractMap,
  Double,
  Environment,
  kubernetesLibraries,
  type Program,
  toJson,
  types,
  type Value,
} from '#cel/index.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { UserInfo } from '../../request.ts';
import type { Claims } from './claims.ts';

const { BOOL, DYN, list, map, object, STRING } = types;

const ENVIRONMENTS = {
  claims: new Environment({
    variables: { claims: map(STRING, DYN) },
    libraries: kubernetesLibraries,
  }),
  user: new Environment({
    variables: {
      user: object('kubernetes.UserInfo', {
        username: STRING,
        uid: STRING,
        groups: list(STRING),
        extra: map(STRING, list(STRING)),
      }),
    },
    libraries: kubernetesLibraries,
  }),
};

export interface TokenExpression {
  readonly source: string;
  readonly program: Program;
}

export type CompiledTokenExpression =
  | { readonly expression: TokenExpression; readonly problem?: undefined }
  | { readonly expression?: undefined; readonly problem: string };

/**
 * Compiles an expression over the variable. `isRule`: it must evaluate to bool; that of a mapping is
 * known when it is evaluated.
 */
export function compileTokenExpression(
  source: string,
  variable: 'claims' | 'user',
  isRule: boolean,
): CompiledTokenExpression {
  const { program, error } = ENVIRONMENTS[variable].compile(source);
  if (program === undefined) return { problem: `compilation failed: ${error.message}` };
  if (isRule && !types.sameType(program.resultType, BOOL))
    return { problem: 'must evaluate to bool' };
  return { expression: { source, program } };
}

/** Reports whether an expression over claims reads the claim by name: `claims.NAME`. */
export function readsClaim(source: string, name: string): boolean {
  const { expression } = ENVIRONMENTS.claims.parse(source);
  return expression !== undefined && hasSelection(expression, name);
}

function hasSelection(node: unknown, field: string): boolean {
  if (Array.isArray(node)) return node.some((each) => hasSelection(each, field));
  if (typeof node !== 'object' || node === null) return false;
  const { kind, operand, field: selected, function: called, arguments: args } = node as Node;
  if (kind === 'select' && selected === field && isClaims(operand)) return true;
  if (kind === 'call' && called === '_?._' && isClaims(args?.[0])) {
    const [, second] = args ?? [];
    if ((second as Node | undefined)?.value === field) return true;
  }
  return Object.values(node).some((each) => hasSelection(each, field));
}

/** The parts of a syntax tree's nodes that are looked at. */
interface Node {
  readonly kind?: string;
  readonly operand?: unknown;
  readonly field?: string;
  readonly function?: string;
  readonly arguments?: readonly unknown[];
  readonly name?: string;
  readonly value?: unknown;
}

function isClaims(node: unknown): boolean {
  const { kind, name } = (node ?? {}) as Node;
  return kind === 'identifier' && name === 'claims';
}

/** An expression that could not be evaluated. */
export class TokenExpressionError extends Error {}

/** Evaluates in turns of the event loop. Returns the result as JSON. Rejects with TokenExpressionError. */
export async function evaluate(
  { source, program }: TokenExpression,
  activation: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { value, error } = await program.evaluateAsync(activation);
  if (error !== undefined)
    throw new TokenExpressionError(`expression '${source}' resulted in error: ${error.message}`);
  return toJson(value);
}

/** Returns the variables for expressions over claims. */
export function claimsActivation(claims: Claims): Readonly<Record<string, unknown>> {
  return { claims: new JsonMap(claims) };
}

/** Returns the variables for expressions over the user. */
export function userActivation({
  name,
  uid = '',
  groups,
  extra = {},
}: UserInfo): Readonly<Record<string, unknown>> {
  return { user: { username: name, uid, groups, extra: new JsonMap(extra) } };
}

/** A JSON object whose keys can be selected by their escaped names: `a__dot__b` for 'a.b'. */
class JsonMap extends AbstractMap {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: Readonly<Record<string, unknown>>) {
    super();
    this.#fields = fields;
  }

  get size(): number {
    return Object.keys(this.#fields).length;
  }

  get(key: Value): Value {
    if (typeof key !== 'string') return undefined;
    const name = unescape(key);
    return Object.hasOwn(this.#fields, name) ? valueOf(this.#fields[name]) : undefined;
  }

  keys(): Iterable<Value> {
    return Object.keys(this.#fields);
  }
}

/** Numbers of JSON are doubles, as in Go. */
function valueOf(json: unknown): Value {
  if (typeof json === 'number') return new Double(json);
  if (Array.isArray(json)) return json.map(valueOf);
  return isPlainObject(json) ? new JsonMap(json) : json;
}

const ESCAPES: Readonly<Record<string, string>> = {
  __underscores__: '__',
  __dot__: '.',
  __dash__: '-',
  __slash__: '/',
};
const KEYWORDS =
  /^__(true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return)__$/;

function unescape(name: string): string {
  if (!name.includes('__')) return name;
  const keyword = KEYWORDS.exec(name)?.[1];
  return (
    keyword ?? name.replaceAll(/__(?:underscores|dot|dash|slash)__/g, (escape) => ESCAPES[escape]!)
  );
}
