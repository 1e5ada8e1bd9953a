// The pod conditions that the kubelet owns. Conditions of other writers are kept.

import type * as v1 from '#api/groups/core/v1/index.ts';
import { isSidecar } from '../pod/restart-policy.ts';
import type { Container, ContainerStatus, Pod, PodCondition } from '../types.ts';
import type { PodPhase } from './phase.ts';

/** The kubelet's conditions, in the order of the status. */
export const OWNED_CONDITIONS: readonly string[] = [
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'PodResizePending',
  'PodResizeInProgress',
  'AllContainersRestarting',
];

export const ALL_CONTAINERS_RESTARTING = 'AllContainersRestarting';

/** A condition that other components write, too. The kubelet writes it once, when it ends a pod. */
export const DISRUPTION_TARGET = 'DisruptionTarget';

export interface ConditionsInput {
  readonly pod: Pod;
  /** The last reported conditions. */
  readonly previous: readonly PodCondition[];
  readonly phase: PodPhase;
  readonly containerStatuses: readonly ContainerStatus[];
  readonly initContainerStatuses: readonly ContainerStatus[];
  /** A sandbox with a network exists. */
  readonly sandboxReady: boolean;
  /** All containers are being restarted. Absent: no rule of the pod can do that. */
  readonly restartingAll?: boolean;
}

interface Verdict {
  readonly status: 'True' | 'False';
  readonly reason?: string;
  readonly message?: string;
}

const TRUE: Verdict = { status: 'True' };

/**
 * Returns all conditions of the pod. The status manager sets transition times: here they are null.
 */
export function generateConditions(input: ConditionsInput): PodCondition[] {
  const { pod } = input;
  const disruption = input.previous.find(({ type }) => type === DISRUPTION_TARGET);
  const foreign = (pod.status?.conditions ?? []).filter(
    ({ type }) => !OWNED_CONDITIONS.includes(type),
  );
  const kept =
    disruption === undefined
      ? foreign
      : [...foreign.filter(({ type }) => type !== DISRUPTION_TARGET), disruption];
  const all = new Map(
    [...input.initContainerStatuses, ...input.containerStatuses].map((status) => [
      status.name,
      status,
    ]),
  );
  const containersReady = judgeContainersReady(pod, all, input.phase);
  const verdicts: [v1.PodConditionType, Verdict][] = [
    ['PodReadyToStartContainers', input.sandboxReady ? TRUE : { status: 'False' }],
    ['Initialized', judgeInitialized(pod, all, input.phase)],
    ['Ready', judgeReady(pod, kept, containersReady)],
    ['ContainersReady', containersReady],
    ['PodScheduled', TRUE],
  ];
  if (input.restartingAll !== undefined)
    verdicts.push([ALL_CONTAINERS_RESTARTING, judgeRestart(input.restartingAll, input.phase)]);
  return [...kept, ...verdicts.map(([type, verdict]) => toCondition(pod, type, verdict))];
}

function judgeRestart(restartingAll: boolean, phase: PodPhase): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  return restartingAll
    ? {
        status: 'True',
        reason: 'RestartAllContainersStarted',
        message: 'container exited with restart policy rule',
      }
    : { status: 'False' };
}

export function toCondition(pod: Pod, type: v1.PodConditionType, verdict: Verdict): PodCondition {
  const generation = pod.metadata.generation ?? 0;
  return {
    type,
    ...(generation > 0 ? { observedGeneration: generation } : {}),
    status: verdict.status,
    lastProbeTime: null,
    lastTransitionTime: null,
    ...(verdict.reason !== undefined ? { reason: verdict.reason } : {}),
    ...(verdict.message !== undefined ? { message: verdict.message } : {}),
  };
}

function judgeContainersReady(
  pod: Pod,
  statuses: ReadonlyMap<string, ContainerStatus>,
  phase: PodPhase,
): Verdict {
  const counted = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const unknown = counted.filter((container) => !statuses.has(container.name));
  const unready = counted.filter((container) => statuses.get(container.name)?.ready === false);
  if (phase === 'Succeeded' && unknown.length === 0)
    return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const message = listProblems(unknown, unready, 'unready');
  return message === '' ? TRUE : { status: 'False', reason: 'ContainersNotReady', message };
}

function judgeInitialized(
  pod: Pod,
  statuses: ReadonlyMap<string, ContainerStatus>,
  phase: PodPhase,
): Verdict {
  const initContainers: readonly Container[] = pod.spec.initContainers ?? [];
  const unknown = initContainers.filter((container) => !statuses.has(container.name));
  const incomplete = initContainers.filter((container) => {
    const status = statuses.get(container.name);
    return status !== undefined && !(isSidecar(container) ? status.started === true : status.ready);
  });
  if (phase === 'Succeeded' && unknown.length === 0)
    return { status: 'True', reason: 'PodCompleted' };
  // An initialized pod stays initialized, also while a sidecar restarts.
  const anyStarted = pod.spec.containers.some((container) =>
    hasStarted(statuses.get(container.name)),
  );
  if (anyStarted) return TRUE;
  const message = listProblems(unknown, incomplete, 'incomplete');
  return message === '' ? TRUE : { status: 'False', reason: 'ContainersNotInitialized', message };
}

/** Reports whether the container runs or ever ran. */
export function hasStarted(status: ContainerStatus | undefined): boolean {
  if (status === undefined) return false;
  return (
    status.started === true ||
    status.state.running !== undefined ||
    status.state.terminated !== undefined ||
    status.lastState.terminated !== undefined
  );
}

function judgeReady(pod: Pod, others: readonly PodCondition[], containersReady: Verdict): Verdict {
  if (containersReady.status !== 'True') return containersReady;
  const problems: string[] = [];
  for (const gate of pod.spec.readinessGates ?? []) {
    const condition = others.find((candidate) => candidate.type === gate.conditionType);
    if (condition === undefined) {
      problems.push(
        `corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`,
      );
    } else if (condition.status !== 'True') {
      problems.push(
        `the status of pod readiness gate "${gate.conditionType}" is not "True", but ${condition.status}`,
      );
    }
  }
  return problems.length === 0
    ? TRUE
    : { status: 'False', reason: 'ReadinessGatesNotReady', message: problems.join(', ') };
}

function listProblems(
  unknown: readonly Container[],
  problems: readonly Container[],
  word: string,
): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: ${names(unknown)}`);
  if (problems.length > 0) parts.push(`containers with ${word} status: ${names(problems)}`);
  return parts.join(', ');
}

function names(containers: readonly Container[]): string {
  return `[${containers.map((container) => container.name).join(' ')}]`;
}
