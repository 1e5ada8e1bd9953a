// The group's types as validation sees them: it never changes what it checks.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as batch from '../types.ts';

export type CronJob = Immutable<batch.CronJob>;
export type CronJobSpec = Immutable<batch.CronJobSpec>;
export type Job = Immutable<batch.Job>;
export type JobSpec = Immutable<batch.JobSpec>;
export type JobStatus = Immutable<batch.JobStatus>;
export type PodFailurePolicyOnExitCodesRequirement = Immutable<batch.PodFailurePolicyOnExitCodesRequirement>;
export type PodFailurePolicyOnPodConditionsPattern = Immutable<batch.PodFailurePolicyOnPodConditionsPattern>;
export type PodFailurePolicyRule = Immutable<batch.PodFailurePolicyRule>;
export type SuccessPolicyRule = Immutable<batch.SuccessPolicyRule>;
