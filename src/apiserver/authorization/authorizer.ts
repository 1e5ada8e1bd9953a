// The interface of authorizers: may this user do this? They are called once for each request, and
// by access reviews.

import type { RequestInfo, UserInfo } from '../request.ts';

/** The attributes of a request that authorizers evaluate. */
export type Attributes = Pick<
  RequestInfo,
  | 'isResourceRequest'
  | 'path'
  | 'verb'
  | 'apiGroup'
  | 'apiVersion'
  | 'namespace'
  | 'resource'
  | 'subresource'
  | 'name'
> & {
  readonly user: UserInfo;
  /** The selectors of requests for several objects, as in a query. They may be malformed. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
};

export interface Decision {
  /**
   * 'noOpinion': this authorizer does not decide. A request that no authorizer allows is denied.
   */
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  /** The reason, for messages. It may be ''. */
  readonly reason: string;
  /** An authorizer could not evaluate the request. The decision holds nevertheless. */
  readonly error?: string;
}

/** A rule in the form of SelfSubjectRulesReview. '*' means all. */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface RulesAnswer {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  /** True if the user may have more permissions than the listed ones. */
  readonly incomplete: boolean;
  /** The reason why rules may be missing. */
  readonly evaluationError?: string;
}

/** Its signal is read only by authorizers that wait: most requests never need one. */
export interface AuthorizationCaller {
  /** The decision is not needed any more once it aborts. */
  readonly signal: AbortSignal;
}

export interface Authorizer {
  /** Does not reject. `caller`: the request that waits for the decision. */
  authorize(attributes: Attributes, caller?: AuthorizationCaller): Decision | Promise<Decision>;
  /** Returns the rules of a user in a namespace. */
  rulesFor(user: UserInfo, namespace: string): RulesAnswer | Promise<RulesAnswer>;
}

export const NO_OPINION: Decision = { decision: 'noOpinion', reason: '' };
export const ALLOW: Decision = { decision: 'allow', reason: '' };
