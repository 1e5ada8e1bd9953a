// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Runs pods until a number of them succeed. */
export interface Job extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: JobSpec;
  /** The observed state. */
  status: JobStatus;
}

/** A list of Job objects. */
export interface JobList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Job[];
}

export type CompletionMode = 'NonIndexed' | 'Indexed';

export type PodFailurePolicyAction = 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';

export type PodFailurePolicyOnExitCodesOperator = 'In' | 'NotIn';

export type PodReplacementPolicy = 'TerminatingOrFailed' | 'Failed';

/** A requirement for exit codes. */
export interface PodFailurePolicyOnExitCodesRequirement {
  /** The container. Absent: any container. */
  containerName?: string;
  /** In or NotIn. */
  operator: PodFailurePolicyOnExitCodesOperator;
  /** The exit codes. 0 cannot be in a list with In. */
  values: number[];
}

/** A condition of a pod. */
export interface PodFailurePolicyOnPodConditionsPattern {
  /** The type of the condition. */
  type: core.PodConditionType;
  /** The status of the condition. Default: True. */
  status: core.ConditionStatus;
}

/** A rule for failed pods. Either onExitCodes or onPodConditions is set. */
export interface PodFailurePolicyRule {
  /** FailJob, FailIndex, Ignore to not count the failure, or Count. */
  action: PodFailurePolicyAction;
  /** Exit codes of containers that the rule is for. */
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  /** Conditions of the pod that the rule is for. */
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
}

/** How failed pods of a Job are treated. */
export interface PodFailurePolicy {
  /** The rules, in order. The first that matches decides. */
  rules: PodFailurePolicyRule[] | null;
}

/** When a Job succeeds early. */
export interface SuccessPolicy {
  /** The rules. One that matches is enough. */
  rules: SuccessPolicyRule[];
}

/** A rule for early success. */
export interface SuccessPolicyRule {
  /** The indexes of which all, or succeededCount, must succeed, such as 1,3-5,7. */
  succeededIndexes?: string;
  /** How many of the indexes must succeed. */
  succeededCount?: number;
}

/** The desired state of a Job. */
export interface JobSpec {
  /** How many pods run at most at the same time. Default: 1. */
  parallelism?: number;
  /** How many pods must succeed. Absent: the success of one pod completes the Job. */
  completions?: number;
  /** How many seconds the Job may be active in total. */
  activeDeadlineSeconds?: number;
  /** How failed pods are treated, by exit codes and conditions. */
  podFailurePolicy?: PodFailurePolicy;
  /** When an indexed Job succeeds before all indexes have. */
  successPolicy?: SuccessPolicy;
  /** The number of failures after which the Job fails. Default: 6. */
  backoffLimit?: number;
  /** The number of failures after which an index fails. For indexed Jobs. */
  backoffLimitPerIndex?: number;
  /** The number of failed indexes after which the Job fails. */
  maxFailedIndexes?: number;
  /** Selects the pods. Set by the server unless manualSelector is true. */
  selector?: meta.LabelSelector;
  /** Whether the selector is given by the user. */
  manualSelector?: boolean;
  /** The pods that are created. Their restart policy is Never or OnFailure. */
  template: core.PodTemplateSpec;
  /** How many seconds a finished Job is kept. Absent: it is not deleted automatically. */
  ttlSecondsAfterFinished?: number;
  /** NonIndexed, or Indexed to give each pod a number. Default: NonIndexed. */
  completionMode?: CompletionMode;
  /** Whether no pods are run for now. Running ones are deleted. */
  suspend?: boolean;
  /** When failed pods are replaced: TerminatingOrFailed, or Failed to wait until they are gone. */
  podReplacementPolicy?: PodReplacementPolicy;
  /** The controller of the Job, if it is not the built-in one. */
  managedBy?: string;
}

/** The observed state of a Job. */
export interface JobStatus {
  /** Complete, Failed, Suspended, SuccessCriteriaMet and FailureTarget. */
  conditions?: JobCondition[];
  /** When the Job was started, or resumed last. */
  startTime?: string;
  /** When the Job completed. */
  completionTime?: string;
  /** The number of pods that run or are pending, and are not being deleted. */
  active?: number;
  /** The number of pods that succeeded. */
  succeeded?: number;
  /** The number of pods that failed. */
  failed?: number;
  /** The number of pods that are being deleted. */
  terminating?: number;
  /** The indexes that succeeded, such as 1,3-5,7. */
  completedIndexes?: string;
  /** The indexes that failed, such as 1,3-5,7. */
  failedIndexes?: string;
  /** Pods that have ended and are not counted yet. */
  uncountedTerminatedPods?: UncountedTerminatedPods;
  /** The number of ready pods. */
  ready?: number;
}

/** UIDs of pods that have ended and are not counted yet. */
export interface UncountedTerminatedPods {
  /** Pods that succeeded. */
  succeeded?: string[];
  /** Pods that failed. */
  failed?: string[];
}

export type JobConditionType = 'Suspended' | 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | (string & {});

/** A condition of a Job. */
export interface JobCondition {
  /** The type of the condition. */
  type: JobConditionType;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** When the condition was last checked. */
  lastProbeTime: string | null;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** The Jobs that a CronJob creates. */
export interface JobTemplateSpec {
  /** Labels and annotations of the Jobs. */
  metadata: meta.ObjectMeta;
  /** The spec of the Jobs. */
  spec: JobSpec;
}

/** Creates Jobs by a schedule. */
export interface CronJob extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: CronJobSpec;
  /** The observed state. */
  status: CronJobStatus;
}

/** A list of CronJob objects. */
export interface CronJobList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: CronJob[];
}

/** The schedule and the Jobs. */
export interface CronJobSpec {
  /** The schedule in cron form: minute, hour, day of the month, month, day of the week. */
  schedule: string;
  /** The time zone of the schedule, such as Europe/Berlin. Default: that of the controller manager. */
  timeZone?: string;
  /** How many seconds late a Job may start. Missed runs beyond that are skipped. */
  startingDeadlineSeconds?: number;
  /** Allow, Forbid to skip a run while the last one is active, or Replace to cancel it. Default: Allow. */
  concurrencyPolicy?: ConcurrencyPolicy;
  /** Whether no further Jobs are created. Default: false. */
  suspend?: boolean;
  /** The Jobs that are created. */
  jobTemplate: JobTemplateSpec;
  /** The number of successful Jobs that are kept. Default: 3. */
  successfulJobsHistoryLimit?: number;
  /** The number of failed Jobs that are kept. Default: 1. */
  failedJobsHistoryLimit?: number;
}

export type ConcurrencyPolicy = 'Allow' | 'Forbid' | 'Replace';

/** The observed state of a CronJob. */
export interface CronJobStatus {
  /** The Jobs that run. */
  active?: core.ObjectReference[];
  /** When a Job was last created. */
  lastScheduleTime?: string;
  /** When a Job last succeeded. */
  lastSuccessfulTime?: string;
}
