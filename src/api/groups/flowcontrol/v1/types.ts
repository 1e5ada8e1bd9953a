// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Puts requests into flows, and gives them a priority level. */
export interface FlowSchema extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: FlowSchemaSpec;
  /** The observed state. */
  status: FlowSchemaStatus;
}

/** A list of FlowSchema objects. */
export interface FlowSchemaList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: FlowSchema[];
}

/** The requests and their priority level. */
export interface FlowSchemaSpec {
  /** The priority level. */
  priorityLevelConfiguration: PriorityLevelConfigurationReference;
  /** Schemas with a lower number are tried first. From 1 to 10000. Default: 1000. */
  matchingPrecedence: number;
  /** How requests are divided into flows. */
  distinguisherMethod?: FlowDistinguisherMethod;
  /** The requests. One rule must match. */
  rules?: PolicyRulesWithSubjects[];
}

export type FlowDistinguisherMethodType = 'ByUser' | 'ByNamespace' | (string & {});

/** How requests are divided into flows. */
export interface FlowDistinguisherMethod {
  /** ByUser or ByNamespace. */
  type: FlowDistinguisherMethodType;
}

/** A priority level. */
export interface PriorityLevelConfigurationReference {
  /** The name of the priority level. */
  name: string;
}

/** Subjects and their requests. */
export interface PolicyRulesWithSubjects {
  /** The subjects. */
  subjects: Subject[];
  /** Requests for resources. */
  resourceRules?: ResourcePolicyRule[];
  /** Requests for paths. */
  nonResourceRules?: NonResourcePolicyRule[];
}

/** A subject. The field that the kind names is set. */
export interface Subject {
  /** User, Group or ServiceAccount. */
  kind: SubjectKind;
  /** A user. */
  user?: UserSubject;
  /** A group. */
  group?: GroupSubject;
  /** A service account. */
  serviceAccount?: ServiceAccountSubject;
}

export type SubjectKind = 'User' | 'Group' | 'ServiceAccount' | (string & {});

/** A user. */
export interface UserSubject {
  /** The name. "*": all. */
  name: string;
}

/** A group. */
export interface GroupSubject {
  /** The name. "*": all. */
  name: string;
}

/** A service account. */
export interface ServiceAccountSubject {
  /** The namespace. */
  namespace: string;
  /** The name. "*": all. */
  name: string;
}

/** Requests for resources. */
export interface ResourcePolicyRule {
  /** The verbs. "*": all. */
  verbs: string[];
  /** The API groups. "*": all. */
  apiGroups: string[];
  /** The resources. "*": all. */
  resources: string[];
  /** Whether requests without a namespace match. */
  clusterScope?: boolean;
  /** The namespaces. "*": all. */
  namespaces: string[] | null;
}

/** Requests for paths. */
export interface NonResourcePolicyRule {
  /** The verbs. "*": all. */
  verbs: string[];
  /** The paths, such as /healthz or /hea*. "*": all. */
  nonResourceURLs: string[];
}

/** The state of a FlowSchema. */
export interface FlowSchemaStatus {
  /** Conditions of the FlowSchema. */
  conditions?: FlowSchemaCondition[];
}

/** A condition of a FlowSchema. */
export interface FlowSchemaCondition {
  /** The type of the condition. */
  type?: string;
  /** True, False or Unknown. */
  status?: ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** A priority level of requests. */
export interface PriorityLevelConfiguration extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: PriorityLevelConfigurationSpec;
  /** The observed state. */
  status: PriorityLevelConfigurationStatus;
}

/** A list of PriorityLevelConfiguration objects. */
export interface PriorityLevelConfigurationList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PriorityLevelConfiguration[];
}

/** The limits of a priority level. */
export interface PriorityLevelConfigurationSpec {
  /** Exempt for requests without a limit, or Limited. */
  type: PriorityLevelEnablement;
  /** Settings of Limited. */
  limited?: LimitedPriorityLevelConfiguration;
  /** Settings of Exempt. */
  exempt?: ExemptPriorityLevelConfiguration;
}

export type PriorityLevelEnablement = 'Exempt' | 'Limited' | (string & {});

/** Settings of a limited level. */
export interface LimitedPriorityLevelConfiguration {
  /** The share of the concurrency limit of the server. Default: 30. */
  nominalConcurrencyShares: number | null;
  /** Treatment of requests beyond the limit. */
  limitResponse: LimitResponse;
  /** How much of the limit others may borrow. Default: 0. */
  lendablePercent?: number;
  /** How much may be borrowed of others, relative to the limit. Absent: any amount. */
  borrowingLimitPercent?: number;
}

/** Settings of an exempt level. */
export interface ExemptPriorityLevelConfiguration {
  /** The share of the concurrency limit that is reserved. Default: 0. */
  nominalConcurrencyShares?: number;
  /** How much of it others may borrow. Default: 0. */
  lendablePercent?: number;
}

/** Treatment of requests beyond a limit. */
export interface LimitResponse {
  /** Queue or Reject. */
  type: LimitResponseType;
  /** Settings of Queue. */
  queuing?: QueuingConfiguration;
}

export type LimitResponseType = 'Queue' | 'Reject' | (string & {});

/** Settings of queues. */
export interface QueuingConfiguration {
  /** The number of queues. Default: 64. */
  queues: number;
  /** How many queues a flow can use. Default: 8. */
  handSize: number;
  /** How many requests wait in a queue at most. Default: 50. */
  queueLengthLimit: number;
}

/** The state of a priority level. */
export interface PriorityLevelConfigurationStatus {
  /** Conditions of the priority level. */
  conditions?: PriorityLevelConfigurationCondition[];
}

/** A condition of a priority level. */
export interface PriorityLevelConfigurationCondition {
  /** The type of the condition. */
  type?: string;
  /** True, False or Unknown. */
  status?: ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});
