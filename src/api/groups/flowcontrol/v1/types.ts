// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface FlowSchema extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: FlowSchemaSpec;
  status: FlowSchemaStatus;
}

export interface FlowSchemaList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: FlowSchema[];
}

export interface FlowSchemaSpec {
  priorityLevelConfiguration: PriorityLevelConfigurationReference;
  matchingPrecedence: number;
  distinguisherMethod?: FlowDistinguisherMethod;
  rules?: PolicyRulesWithSubjects[];
}

export type FlowDistinguisherMethodType = 'ByUser' | 'ByNamespace' | (string & {});

export interface FlowDistinguisherMethod {
  type: FlowDistinguisherMethodType;
}

export interface PriorityLevelConfigurationReference {
  name: string;
}

export interface PolicyRulesWithSubjects {
  subjects: Subject[];
  resourceRules?: ResourcePolicyRule[];
  nonResourceRules?: NonResourcePolicyRule[];
}

export interface Subject {
  kind: SubjectKind;
  user?: UserSubject;
  group?: GroupSubject;
  serviceAccount?: ServiceAccountSubject;
}

export type SubjectKind = 'User' | 'Group' | 'ServiceAccount' | (string & {});

export interface UserSubject {
  name: string;
}

export interface GroupSubject {
  name: string;
}

export interface ServiceAccountSubject {
  namespace: string;
  name: string;
}

export interface ResourcePolicyRule {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  clusterScope?: boolean;
  namespaces: string[] | null;
}

export interface NonResourcePolicyRule {
  verbs: string[];
  nonResourceURLs: string[];
}

export interface FlowSchemaStatus {
  conditions?: FlowSchemaCondition[];
}

export interface FlowSchemaCondition {
  type?: string;
  status?: ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface PriorityLevelConfiguration extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: PriorityLevelConfigurationSpec;
  status: PriorityLevelConfigurationStatus;
}

export interface PriorityLevelConfigurationList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: PriorityLevelConfiguration[];
}

export interface PriorityLevelConfigurationSpec {
  type: PriorityLevelEnablement;
  limited?: LimitedPriorityLevelConfiguration;
  exempt?: ExemptPriorityLevelConfiguration;
}

export type PriorityLevelEnablement = 'Exempt' | 'Limited' | (string & {});

export interface LimitedPriorityLevelConfiguration {
  nominalConcurrencyShares: number | null;
  limitResponse: LimitResponse;
  lendablePercent?: number;
  borrowingLimitPercent?: number;
}

export interface ExemptPriorityLevelConfiguration {
  nominalConcurrencyShares?: number;
  lendablePercent?: number;
}

export interface LimitResponse {
  type: LimitResponseType;
  queuing?: QueuingConfiguration;
}

export type LimitResponseType = 'Queue' | 'Reject' | (string & {});

export interface QueuingConfiguration {
  queues: number;
  handSize: number;
  queueLengthLimit: number;
}

export interface PriorityLevelConfigurationStatus {
  conditions?: PriorityLevelConfigurationCondition[];
}

export interface PriorityLevelConfigurationCondition {
  type?: string;
  status?: ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});
