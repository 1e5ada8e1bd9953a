// The phase of a pod, from the statuses of its containers.

import { isSidecar, RESTARTING_ALL, shouldRestartAfterExit } from '../pod/restart-policy.ts';
import type { Container, ContainerStatus, Pod } from '../types.ts';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/**
 * Returns the phase. `ended`: no container will be started again, whatever the restart policy is.
 * `hasStarted`: a regular container has run, so that the pod does not become pending again when a
 * sidecar restarts.
 */
export function getPhase(
  pod: Pod,
  containerStatuses: readonly ContainerStatus[],
  initContainerStatuses: readonly ContainerStatus[],
  ended: boolean,
  hasStarted: boolean,
): PodPhase {
  const initByName = new Map(initContainerStatuses.map((status) => [status.name, status]));
  const byName = new Map(containerStatuses.map((status) => [status.name, status]));
  const init = countInitContainers(pod, initByName);
  const counts = { unknown: 0, running: 0, waiting: 0, stopped: 0, final: 0, succeeded: 0 };
  let pendingSidecars = 0;

  for (const container of pod.spec.initContainers ?? []) {
    if (!isSidecar(container)) continue;
    const status = initByName.get(container.name);
    if (status === undefined) counts.unknown++;
    else if (status.state.running !== undefined) {
      if (status.started !== true) pendingSidecars++;
      counts.running++;
    } else if (status.state.terminated === undefined && status.lastState.terminated === undefined) {
      // An ended sidecar does not count: it neither keeps the pod running nor makes it fail.
      pendingSidecars++;
      if (status.state.waiting !== undefined) counts.waiting++;
      else counts.unknown++;
    }
  }

  for (const container of pod.spec.containers) {
    const status = byName.get(container.name);
    const terminated =
      status?.state.terminated ??
      (status?.state.waiting !== undefined ? status.lastState.terminated : undefined);
    if (status?.state.running !== undefined) counts.running++;
    else if (terminated !== undefined) {
      counts.stopped++;
      if (!isRestarted(container, pod, terminated)) counts.final++;
      if (status?.state.terminated?.exitCode === 0) counts.succeeded++;
    } else if (status?.state.waiting !== undefined) counts.waiting++;
    else counts.unknown++;
  }

  if (init.failedForGood > 0) return 'Failed';
  if (init.pending > 0 || (pendingSidecars > 0 && !hasStarted) || counts.waiting > 0)
    return 'Pending';
  if (counts.running > 0 && counts.unknown === 0) return 'Running';
  if (counts.running === 0 && counts.stopped > 0 && counts.unknown === 0) {
    if (!ended && counts.stopped !== counts.final) return 'Running';
    return counts.stopped === counts.succeeded ? 'Succeeded' : 'Failed';
  }
  return 'Pending';
}

function countInitContainers(
  pod: Pod,
  byName: ReadonlyMap<string, ContainerStatus>,
): { readonly pending: number; readonly failedForGood: number } {
  let pending = 0;
  let failedForGood = 0;
  for (const container of pod.spec.initContainers ?? []) {
    if (isSidecar(container)) continue;
    const status = byName.get(container.name);
    const terminated =
      status?.state.terminated ??
      (status?.state.waiting !== undefined ? status.lastState.terminated : undefined);
    if (terminated === undefined) pending++;
    else if (terminated.exitCode !== 0 && !isRestarted(container, pod, terminated)) failedForGood++;
  }
  return { pending, failedForGood };
}

/** Reports whether a container that has ended so is started again. */
const isRestarted = (
  container: Container,
  pod: Pod,
  terminated: { readonly exitCode: number; readonly reason?: string },
): boolean =>
  terminated.reason === RESTARTING_ALL ||
  shouldRestartAfterExit(container, pod.spec, terminated.exitCode);

export function isTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
