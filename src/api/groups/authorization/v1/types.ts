// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface SubjectAccessReview extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

export interface SelfSubjectAccessReview extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: SelfSubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

export interface LocalSubjectAccessReview extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: FieldSelectorAttributes;
  labelSelector?: LabelSelectorAttributes;
}

export interface LabelSelectorAttributes {
  rawSelector?: string;
  requirements?: meta.LabelSelectorRequirement[];
}

export interface FieldSelectorAttributes {
  rawSelector?: string;
  requirements?: meta.FieldSelectorRequirement[];
}

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

export interface SubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
  user?: string;
  groups?: string[];
  extra?: Record<string, ExtraValue>;
  uid?: string;
}

export type ExtraValue = string[];

export interface SelfSubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

export interface SubjectAccessReviewStatus {
  allowed: boolean;
  denied?: boolean;
  reason?: string;
  evaluationError?: string;
}

export interface SelfSubjectRulesReview extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: SelfSubjectRulesReviewSpec;
  status: SubjectRulesReviewStatus;
}

export interface SelfSubjectRulesReviewSpec {
  namespace?: string;
}

export interface SubjectRulesReviewStatus {
  resourceRules: ResourceRule[];
  nonResourceRules: NonResourceRule[];
  incomplete: boolean;
  evaluationError?: string;
}

export interface ResourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

export interface NonResourceRule {
  verbs: string[];
  nonResourceURLs?: string[];
}
