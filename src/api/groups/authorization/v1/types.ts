// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Asks whether a user may perform an action. */
export interface SubjectAccessReview extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: SubjectAccessReviewSpec;
  /** The observed state. */
  status: SubjectAccessReviewStatus;
}

/** Asks whether the user of the request may perform an action. */
export interface SelfSubjectAccessReview extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: SelfSubjectAccessReviewSpec;
  /** The observed state. */
  status: SubjectAccessReviewStatus;
}

/** Asks whether a user may perform an action in one namespace. */
export interface LocalSubjectAccessReview extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: SubjectAccessReviewSpec;
  /** The observed state. */
  status: SubjectAccessReviewStatus;
}

/** An action on a resource. */
export interface ResourceAttributes {
  /** The namespace. Empty: all, or the resource is cluster-scoped. */
  namespace?: string;
  /** The verb. "*": all. */
  verb?: string;
  /** The API group. "*": all. */
  group?: string;
  /** The API version. "*": all. */
  version?: string;
  /** The resource. "*": all. */
  resource?: string;
  /** The subresource. Empty: none. */
  subresource?: string;
  /** The name of the object. Empty: all. */
  name?: string;
  /** The field selector of the action. */
  fieldSelector?: FieldSelectorAttributes;
  /** The label selector of the action. */
  labelSelector?: LabelSelectorAttributes;
}

/** A label selector. One field is set. */
export interface LabelSelectorAttributes {
  /** The selector as in a query. */
  rawSelector?: string;
  /** The requirements of the selector. */
  requirements?: meta.LabelSelectorRequirement[];
}

/** A field selector. One field is set. */
export interface FieldSelectorAttributes {
  /** The selector as in a query. */
  rawSelector?: string;
  /** The requirements of the selector. */
  requirements?: meta.FieldSelectorRequirement[];
}

/** An action on a path. */
export interface NonResourceAttributes {
  /** The path. */
  path?: string;
  /** The HTTP verb in lower case. */
  verb?: string;
}

/** The user and the action. One kind of attributes is set. */
export interface SubjectAccessReviewSpec {
  /** An action on a resource. */
  resourceAttributes?: ResourceAttributes;
  /** An action on a path. */
  nonResourceAttributes?: NonResourceAttributes;
  /** The name of the user. */
  user?: string;
  /** The groups of the user. */
  groups?: string[];
  /** Further information about the user. */
  extra?: Record<string, ExtraValue>;
  /** The UID of the user. */
  uid?: string;
}

export type ExtraValue = string[];

/** The action. One kind of attributes is set. */
export interface SelfSubjectAccessReviewSpec {
  /** An action on a resource. */
  resourceAttributes?: ResourceAttributes;
  /** An action on a path. */
  nonResourceAttributes?: NonResourceAttributes;
}

/** The result. */
export interface SubjectAccessReviewStatus {
  /** Whether the action is allowed. */
  allowed: boolean;
  /** Whether an authorizer has denied the action, so that no other one is asked. */
  denied?: boolean;
  /** The reason, for people. */
  reason?: string;
  /** An error that occurred. The result is valid nevertheless. */
  evaluationError?: string;
}

/** Lists the actions that the user of the request may perform in a namespace. */
export interface SelfSubjectRulesReview extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: SelfSubjectRulesReviewSpec;
  /** The observed state. */
  status: SubjectRulesReviewStatus;
}

/** The namespace. */
export interface SelfSubjectRulesReviewSpec {
  /** The namespace. */
  namespace?: string;
}

/** The rules. They are for display, not for decisions. */
export interface SubjectRulesReviewStatus {
  /** Rules for resources, in no order. */
  resourceRules: ResourceRule[];
  /** Rules for paths, in no order. */
  nonResourceRules: NonResourceRule[];
  /** Whether an authorizer cannot list its rules. */
  incomplete: boolean;
  /** An error that occurred. */
  evaluationError?: string;
}

/** A rule for resources. */
export interface ResourceRule {
  /** The verbs, such as get, list and watch. "*": all. */
  verbs: string[];
  /** The API groups. "": the core group; "*": all. */
  apiGroups?: string[];
  /** The resources, also with a subresource (pods/log). "*": all. */
  resources?: string[];
  /** The names of objects. Empty: all. */
  resourceNames?: string[];
}

/** A rule for paths. */
export interface NonResourceRule {
  /** The verbs, such as get, list and watch. "*": all. */
  verbs: string[];
  /** Paths such as /healthz, also with "*" at the end. "*": all. */
  nonResourceURLs?: string[];
}
