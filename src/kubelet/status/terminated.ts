// The final status of a pod: the pod and all of its containers have ended.

import type { ContainerStatus, PodCondition, PodStatus } from '../types.ts';
import { hasStarted } from './conditions.ts';
import { isTerminal } from './phase.ts';

/**
 * Returns the final status. `status`: generated after the containers were stopped; its remaining
 * open states are closed.
 */
export function terminatedStatus(status: PodStatus): PodStatus {
  const phase = isTerminal(status.phase) ? status.phase : 'Failed';
  // Later init containers than the first one that never ran have not started.
  const initialized = (status.initContainerStatuses ?? []).filter(hasStarted).length;
  // Containers that never started stay waiting.
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
  // A successful init container is ready.
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
