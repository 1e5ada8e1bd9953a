// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface Job extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: JobSpec;
  status: JobStatus;
}

export interface JobList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: Job[];
}

export type CompletionMode = 'NonIndexed' | 'Indexed';

export type PodFailurePolicyAction = 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';

export type PodFailurePolicyOnExitCodesOperator = 'In' | 'NotIn';

export type PodReplacementPolicy = 'TerminatingOrFailed' | 'Failed';

export interface PodFailurePolicyOnExitCodesRequirement {
  containerName?: string;
  operator: PodFailurePolicyOnExitCodesOperator;
  values: number[];
}

export interface PodFailurePolicyOnPodConditionsPattern {
  type: core.PodConditionType;
  status: core.ConditionStatus;
}

export interface PodFailurePolicyRule {
  action: PodFailurePolicyAction;
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
}

export interface PodFailurePolicy {
  rules: PodFailurePolicyRule[] | null;
}

export interface SuccessPolicy {
  rules: SuccessPolicyRule[];
}

export interface SuccessPolicyRule {
  succeededIndexes?: string;
  succeededCount?: number;
}

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  activeDeadlineSeconds?: number;
  podFailurePolicy?: PodFailurePolicy;
  successPolicy?: SuccessPolicy;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  selector?: meta.LabelSelector;
  manualSelector?: boolean;
  template: core.PodTemplateSpec;
  ttlSecondsAfterFinished?: number;
  completionMode?: CompletionMode;
  suspend?: boolean;
  podReplacementPolicy?: PodReplacementPolicy;
  managedBy?: string;
}

export interface JobStatus {
  conditions?: JobCondition[];
  startTime?: string;
  completionTime?: string;
  active?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  completedIndexes?: string;
  failedIndexes?: string;
  uncountedTerminatedPods?: UncountedTerminatedPods;
  ready?: number;
}

export interface UncountedTerminatedPods {
  succeeded?: string[];
  failed?: string[];
}

export type JobConditionType = 'Suspended' | 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | (string & {});

export interface JobCondition {
  type: JobConditionType;
  status: core.ConditionStatus;
  lastProbeTime: string | null;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface JobTemplateSpec {
  metadata: meta.ObjectMeta;
  spec: JobSpec;
}

export interface CronJob extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: CronJobSpec;
  status: CronJobStatus;
}

export interface CronJobList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: CronJob[];
}

export interface CronJobSpec {
  schedule: string;
  timeZone?: string;
  startingDeadlineSeconds?: number;
  concurrencyPolicy?: ConcurrencyPolicy;
  suspend?: boolean;
  jobTemplate: JobTemplateSpec;
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
}

export type ConcurrencyPolicy = 'Allow' | 'Forbid' | 'Replace';

export interface CronJobStatus {
  active?: core.ObjectReference[];
  lastScheduleTime?: string;
  lastSuccessfulTime?: string;
}
