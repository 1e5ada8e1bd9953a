// The last status of a pod: every container in it has ended, and so has the pod.

import type { ContainerStatus, PodCondition, PodStatus } from '../types.ts';
import { hasStarted } from './conditions.ts';
import { isTerminal } from './phase.ts';

/** `status`: as generated after the containers were stopped. What of it is still open is closed. */
export function terminatedStatus(status: PodStatus): PodStatus {
  const phase = isTerminal(status.phase) ? status.phase : 'Failed';
  // An init container after the first that never ran has nothing to have ended.
  const initialized = (status.initContainerStatuses ?? []).filter(hasStarted).length;
  // Containers whose turn never came go on waiting for it.
  const hadTheirTurn =
    status.conditions?.some(
      ({ type, status: met }) => type === 'Initialized' && met === 'False',
    ) !== true;
  return {
    ...status,
    phase,
    ...(status.containerStatuses !== undefined
      ? {
          containerStatuses: status.containerStatuses.map((each) =>
            hadTheirTurn || hasStarted(each) ? { ...ended(each), ready: false } : each,
          ),
        }
      : {}),
    ...(status.initContainerStatuses !== undefined
      ? {
          initContainerStatuses: status.initContainerStatuses.map((each, index) =>
            index < initialized ? ended(each) : each,
          ),
        }
      : {}),
    conditions: (status.conditions ?? []).map((condition) =>
      (condition.type === 'Ready' || condition.type === 'ContainersReady') && phase !== status.phase
        ? failedCondition(condition)
        : condition,
    ),
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  // An init container that has done its work is ready.
  if (status.state.terminated !== undefined) return { ...status, started: false };
  // An unknown result never counts as success.
  return {
    ...status,
    ready: false,
    started: false,
    state: {
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
        startedAt: null,
        finishedAt: null,
      },
    },
  };
}

function failedCondition(condition: PodCondition): PodCondition {
  const { message: _message, ...rest } = condition;
  return { ...rest, status: 'False', reason: 'PodFailed' };
}
