// Authorization checks:
// authorizer.group('').resource('pods').namespace('a').check('list').allowed(). The authorizer is
// an interface and may be asynchronous: the evaluation is then suspended, and repeated once the
// decision is available.

import { isDNS1123Label, isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { LIST_CREATE, sizeOf, STRUCT_CREATE, TEXT_FACTOR } from '../cost.ts';
import { member, type CallCost, type Library } from '../declarations.ts';
import { evaluationError, Suspension } from '../errors.ts';
import { BOOL, opaque, STRING, type Type } from '../types.ts';
import { OpaqueValue } from '../values.ts';

export const AUTHORIZER = opaque('kubernetes.authorization.Authorizer');
const PATH_CHECK = opaque('kubernetes.authorization.PathCheck');
const GROUP_CHECK = opaque('kubernetes.authorization.GroupCheck');
export const RESOURCE_CHECK = opaque('kubernetes.authorization.ResourceCheck');
const DECISION = opaque('kubernetes.authorization.Decision');

/** A check of either a path or a resource. */
export interface AuthorizationCheck {
  readonly verb: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** The selector as text. An invalid one is ignored. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The ServiceAccount to check, instead of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

export interface AuthorizationDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** The reason why there is no decision. */
  readonly error?: string;
}

/** The authorizer for the user of one request. */
export interface ExpressionAuthorizer {
  authorize(check: AuthorizationCheck): AuthorizationDecision | Promise<AuthorizationDecision>;
}

type Fields = Partial<AuthorizationCheck>;

/** An authorizer, or a check that is being built. */
class CheckValue extends OpaqueValue {
  readonly type: Type;
  readonly fields: Fields;
  readonly #checks: CachedChecks;

  constructor(type: Type, fields: Fields, checks: CachedChecks) {
    super();
    this.type = type;
    this.fields = fields;
    this.#checks = checks;
  }

  equals(other: CheckValue): boolean {
    return this === other;
  }

  with(type: Type, fields: Fields): CheckValue {
    return new CheckValue(type, { ...this.fields, ...fields }, this.#checks);
  }

  /** Returns the decision. Throws Suspension if it is not available yet. */
  check(verb: string): DecisionValue {
    return this.#checks.decide({ ...this.fields, verb });
  }
}

class DecisionValue extends OpaqueValue {
  readonly decision: AuthorizationDecision;

  constructor(decision: AuthorizationDecision) {
    super();
    this.decision = decision;
  }

  get type(): Type {
    return DECISION;
  }

  equals(other: DecisionValue): boolean {
    return this === other;
  }
}

/** The checks and decisions of one authorizer: equal checks are made once. */
class CachedChecks {
  readonly #authorizer: ExpressionAuthorizer;
  readonly #answers = new Map<string, DecisionValue>();

  constructor(authorizer: ExpressionAuthorizer) {
    this.#authorizer = authorizer;
  }

  decide(check: AuthorizationCheck): DecisionValue {
    const key = JSON.stringify(Object.entries(check).sort(([a], [b]) => (a < b ? -1 : 1)));
    const cached = this.#answers.get(key);
    if (cached !== undefined) return cached;
    const keep = (decision: AuthorizationDecision): DecisionValue => {
      const value = new DecisionValue(decision);
      this.#answers.set(key, value);
      return value;
    };
    const answer = this.#authorizer.authorize(check);
    if (!(answer instanceof Promise)) return keep(answer);
    throw new Suspension(answer.then(keep));
  }
}

/**
 * Returns the value of the variable `authorizer`. It caches decisions, so each request needs its
 * own.
 */
export function authorizerValue(authorizer: ExpressionAuthorizer): CheckValue {
  return new CheckValue(AUTHORIZER, {}, new CachedChecks(authorizer));
}

/**
 * Returns the value of the variable `authorizer.requestResource`: a check of the request's
 * resource.
 */
export function requestResourceValue(
  authorizer: CheckValue,
  resource: Omit<AuthorizationCheck, 'verb' | 'path'>,
): CheckValue {
  return authorizer.with(RESOURCE_CHECK, resource);
}

const notBlank = (what: string, value: string): string => {
  if (value.trim() === '') throw evaluationError(`${what} must not be empty`);
  return value;
};

function serviceAccount(it: CheckValue, namespace: string, name: string): CheckValue {
  if (isDNS1123Subdomain(name).length > 0) throw evaluationError('Invalid service account name');
  if (isDNS1123Label(namespace).length > 0)
    throw evaluationError('Invalid service account namespace');
  return it.with(AUTHORIZER, { serviceAccount: { namespace, name } });
}

/** The cost of a check: the limit of an expression allows two. */
const CHECK_COST: CallCost = () => 350_000;

/** Assumes one requirement for every two characters of a selector. */
const selectorCost: CallCost = ([, selector]) => {
  const size = sizeOf(selector);
  return (
    LIST_CREATE +
    Math.ceil(size * TEXT_FACTOR) +
    Math.ceil(Math.ceil(size * 0.5) * (LIST_CREATE + STRUCT_CREATE))
  );
};

export const authorizerLibrary: Library = {
  name: 'kubernetes.authz',
  types: [AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION],
  functions: {
    path: [
      member('authorizer_path', [AUTHORIZER, STRING], PATH_CHECK, (it: CheckValue, path: string) =>
        it.with(PATH_CHECK, { path: notBlank('path', path) }),
      ),
    ],
    group: [
      member(
        'authorizer_group',
        [AUTHORIZER, STRING],
        GROUP_CHECK,
        (it: CheckValue, group: string) => it.with(GROUP_CHECK, { group }),
      ),
    ],
    serviceAccount: [
      member('authorizer_serviceaccount', [AUTHORIZER, STRING, STRING], AUTHORIZER, serviceAccount),
    ],
    resource: [
      member(
        'groupcheck_resource',
        [GROUP_CHECK, STRING],
        RESOURCE_CHECK,
        (it: CheckValue, resource: string) =>
          it.with(RESOURCE_CHECK, { resource: notBlank('resource', resource) }),
      ),
    ],
    subresource: [
      member(
        'resourcecheck_subresource',
        [RESOURCE_CHECK, STRING],
        RESOURCE_CHECK,
        (it: CheckValue, subresource: string) => it.with(RESOURCE_CHECK, { subresource }),
      ),
    ],
    namespace: [
      member(
        'resourcecheck_namespace',
        [RESOURCE_CHECK, STRING],
        RESOURCE_CHECK,
        (it: CheckValue, namespace: string) => it.with(RESOURCE_CHECK, { namespace }),
      ),
    ],
    name: [
      member(
        'resourcecheck_name',
        [RESOURCE_CHECK, STRING],
        RESOURCE_CHECK,
        (it: CheckValue, name: string) => it.with(RESOURCE_CHECK, { name }),
      ),
    ],
    fieldSelector: [
      member(
        'authorizer_fieldselector',
        [RESOURCE_CHECK, STRING],
        RESOURCE_CHECK,
        (it: CheckValue, fieldSelector: string) => it.with(RESOURCE_CHECK, { fieldSelector }),
        selectorCost,
      ),
    ],
    labelSelector: [
      member(
        'authorizer_labelselector',
        [RESOURCE_CHECK, STRING],
        RESOURCE_CHECK,
        (it: CheckValue, labelSelector: string) => it.with(RESOURCE_CHECK, { labelSelector }),
        selectorCost,
      ),
    ],
    check: [
      member(
        'pathcheck_check',
        [PATH_CHECK, STRING],
        DECISION,
        (it: CheckValue, verb: string) => it.check(verb),
        CHECK_COST,
      ),
      member(
        'resourcecheck_check',
        [RESOURCE_CHECK, STRING],
        DECISION,
        (it: CheckValue, verb: string) => it.check(verb),
        CHECK_COST,
      ),
    ],
    allowed: [
      member('decision_allowed', [DECISION], BOOL, (it: DecisionValue) => it.decision.allowed),
    ],
    reason: [
      member('decision_reason', [DECISION], STRING, (it: DecisionValue) => it.decision.reason),
    ],
    errored: [
      member(
        'decision_errored',
        [DECISION],
        BOOL,
        (it: DecisionValue) => it.decision.error !== undefined,
      ),
    ],
    error: [
      member('decision_error', [DECISION], STRING, (it: DecisionValue) => it.decision.error ?? ''),
    ],
  },
};
