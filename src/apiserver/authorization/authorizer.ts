// May this user do this? Asked once per request, and by the review kinds.

import type { RequestInfo, UserInfo } from '../request.ts';

/** What somebody wants to do, as far as it matters for the answer. */
export type Attributes = Pick<
  RequestInfo,
  'isResourceRequest' | 'path' | 'verb' | 'apiGroup' | 'apiVersion' | 'namespace' | 'resource' | 'subresource' | 'name'
> & {
  readonly user: UserInfo;
  /** Of requests for several objects: which of them, as it was asked. */
  readonly fieldSelector?: string | undefined;
};

export interface Decision {
  /** 'noOpinion': this authorizer does not know; with nobody who allows it, the answer is no. */
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  /** Why, for people. '' if there is nothing to say. */
  readonly reason: string;
}

/** One thing that somebody may do, in the form that SelfSubjectRulesReview answers. '*' means all. */
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
  /** True if there may be more than could be listed. */
  readonly incomplete: boolean;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /** What a user may do in a namespace. */
  rulesFor(user: UserInfo, namespace: string): RulesAnswer | Promise<RulesAnswer>;
}

export const NO_OPINION: Decision = { decision: 'noOpinion', reason: '' };
export const ALLOW: Decision = { decision: 'allow', reason: '' };
