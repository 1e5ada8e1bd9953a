// The status of a Deployment: counts, and the conditions Available, Progressing and ReplicaFailure.

import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import type { Rollout } from './replica-sets.ts';
import { availablePods, maxUnavailable, replicasOf } from './sizes.ts';

type ReadDeployment = Immutable<Deployment>;
type ReadStatus = Immutable<DeploymentStatus>;
type Condition = Immutable<DeploymentCondition>;
type ReadReplicaSet = Immutable<ReplicaSet>;

const NO_DEADLINE = 2 ** 31 - 1;

export function hasDeadline({ spec }: ReadDeployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE;
}

export function conditionOf(status: ReadStatus, type: string): Condition | undefined {
  return status.conditions?.find((condition) => condition.type === type);
}

export type ConditionNews = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/**
 * Returns the status with `news` as its last condition, in place of the condition of that type.
 * Returns the same status if the condition's status and reason are unchanged.
 */
export function withCondition(status: ReadStatus, news: ConditionNews, nowMs: number): ReadStatus {
  const present = conditionOf(status, news.type);
  if (present?.status === news.status && present.reason === news.reason) return status;
  return replaceCondition(status, news, nowMs);
}

function replaceCondition(status: ReadStatus, news: ConditionNews, nowMs: number): ReadStatus {
  const present = conditionOf(status, news.type);
  const now = formatTime(nowMs);
  const lastTransitionTime = present?.status === news.status ? present.lastTransitionTime : now;
  return {
    ...status,
    conditions: [
      ...withoutCondition(status, news.type),
      { ...news, lastUpdateTime: now, lastTransitionTime },
    ],
  };
}

function withoutCondition({ conditions = [] }: ReadStatus, type: string): readonly Condition[] {
  return conditions.filter((condition) => condition.type !== type);
}

/** Returns the counts and the condition Available. */
export function calculateStatus(
  deployment: ReadDeployment,
  { fresh, old }: Rollout,
  nowMs: number,
): ReadStatus {
  const all = fresh === undefined ? old : [...old, fresh];
  const sum = (count: (set: ReadReplicaSet) => number | undefined): number =>
    all.reduce((total, set) => total + (count(set) ?? 0), 0);
  const replicas = sum(({ status }) => status.replicas);
  const ready = sum(({ status }) => status.readyReplicas);
  const available = availablePods(all);
  const updated = fresh?.status.replicas ?? 0;
  const unavailable = Math.max(0, replicas - available);
  const terminating = all.every(({ status }) => status.terminatingReplicas !== undefined)
    ? sum(({ status }) => status.terminatingReplicas)
    : undefined;
  const { generation } = deployment.metadata;
  const { conditions, collisionCount } = deployment.status;
  const enough = available >= replicasOf(deployment) - maxUnavailable(deployment);
  const status: ReadStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(replicas > 0 && { replicas }),
    ...(updated > 0 && { updatedReplicas: updated }),
    ...(ready > 0 && { readyReplicas: ready }),
    ...(available > 0 && { availableReplicas: available }),
    ...(unavailable > 0 && { unavailableReplicas: unavailable }),
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(conditions !== undefined && { conditions }),
    ...(collisionCount !== undefined && { collisionCount }),
  };
  return withCondition(
    status,
    enough
      ? {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        }
      : {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
    nowMs,
  );
}

/** Reports whether all pods have the new template and are available. */
export function isComplete(deployment: ReadDeployment, status: ReadStatus): boolean {
  const replicas = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function hasProgressed({ status: before }: ReadDeployment, after: ReadStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: ReadStatus): number =>
    replicas - updatedReplicas;
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

function hasTimedOut(deployment: ReadDeployment, status: ReadStatus, nowMs: number): boolean {
  const progressing = conditionOf(status, 'Progressing');
  if (progressing === undefined || progressing.reason === 'NewReplicaSetAvailable') return false;
  if (progressing.reason === 'ProgressDeadlineExceeded') return true;
  const since = parseTime(progressing.lastUpdateTime) ?? nowMs;
  return since + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 < nowMs;
}

/** Returns the status during a rollout, with the conditions about its progress and its failures. */
export function rolloutStatus(
  deployment: ReadDeployment,
  rollout: Rollout,
  nowMs: number,
): ReadStatus {
  let status = calculateStatus(deployment, rollout, nowMs);
  const current = conditionOf(deployment.status, 'Progressing');
  if (!hasDeadline(deployment)) {
    const { conditions: _, ...rest } = status;
    status = { ...rest, conditions: withoutCondition(status, 'Progressing') };
  } else if (!isSettled(status, current)) {
    const { fresh } = rollout;
    const what =
      fresh === undefined
        ? `Deployment "${deployment.metadata.name}"`
        : `ReplicaSet "${fresh.metadata.name}"`;
    if (isComplete(deployment, status)) {
      const message = `${what} has successfully progressed.`;
      status = withCondition(
        status,
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message },
        nowMs,
      );
    } else if (hasProgressed(deployment, status)) {
      // Each step restarts the progress deadline.
      const message = `${what} is progressing.`;
      status = replaceCondition(
        status,
        { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message },
        nowMs,
      );
    } else if (hasTimedOut(deployment, status, nowMs)) {
      const message = `${what} has timed out progressing.`;
      status = withCondition(
        status,
        { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message },
        nowMs,
      );
    }
  }
  status = withTrueName(status, rollout);
  const failure = replicaFailure(rollout);
  if (failure !== undefined) return withCondition(status, failure, nowMs);
  return conditionOf(status, 'ReplicaFailure') === undefined
    ? status
    : { ...status, conditions: withoutCondition(status, 'ReplicaFailure') };
}

/** Names the completed rollout after the new ReplicaSet, even if its beginning was not observed. */
function withTrueName(status: ReadStatus, { fresh }: Rollout): ReadStatus {
  const progressing = conditionOf(status, 'Progressing');
  if (fresh === undefined || progressing?.reason !== 'NewReplicaSetAvailable') return status;
  const message = `ReplicaSet "${fresh.metadata.name}" has successfully progressed.`;
  if (progressing.message === message) return status;
  return {
    ...status,
    conditions: (status.conditions ?? []).map((each) =>
      each === progressing ? { ...each, message } : each,
    ),
  };
}

/**
 * Reports whether the rollout has completed. It stays completed: later changes of pods are not
 * progress.
 */
function isSettled(status: ReadStatus, progressing: Condition | undefined): boolean {
  return (
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) &&
    progressing?.reason === 'NewReplicaSetAvailable'
  );
}

/** Returns the condition ReplicaFailure of a ReplicaSet, of the new one first. */
function replicaFailure({ fresh, old }: Rollout): ConditionNews | undefined {
  for (const set of fresh === undefined ? old : [fresh, ...old]) {
    const failure = set.status.conditions?.find(({ type }) => type === 'ReplicaFailure');
    if (failure === undefined) continue;
    const { type, status, reason, message } = failure;
    return {
      type,
      status,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
    };
  }
  return undefined;
}

/**
 * Returns in how many milliseconds the rollout exceeds its deadline; undefined without a deadline.
 */
export function untilDeadline(
  deployment: ReadDeployment,
  status: ReadStatus,
  nowMs: number,
): number | undefined {
  const progressing = conditionOf(status, 'Progressing');
  if (!hasDeadline(deployment) || progressing === undefined) return undefined;
  if (isComplete(deployment, status) || progressing.reason === 'ProgressDeadlineExceeded')
    return undefined;
  const since = parseTime(progressing.lastUpdateTime) ?? nowMs;
  // Times have whole seconds: the deadline has passed for certain one second later.
  return Math.max(0, since + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 - nowMs) + 1000;
}
