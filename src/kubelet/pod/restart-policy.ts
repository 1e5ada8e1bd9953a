// Decides whether a container that does not run should be restarted: by the pod's restart policy,
// the container's own policy, and its rules on exit codes.

import type { Container, Pod, PodSpec } from '../types.ts';
import { type ContainerRecord, findContainer, type RuntimePodStatus } from './pod-status.ts';

/** The reason of a container that was removed because another one restarts all of its pod. */
export const RESTARTING_ALL = 'RestartingAllContainers';

/**
 * Reports whether the init container is a sidecar: it keeps running beside the pod's containers.
 */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** Reports whether an instance that ended with `exitCode` is restarted. */
export function shouldRestartAfterExit(
  container: Container,
  spec: PodSpec,
  exitCode: number,
): boolean {
  if (container.restartPolicy !== undefined && container.restartPolicy !== null) {
    const action = matchingAction(container, exitCode);
    if (action === 'Restart' || action === 'RestartAllContainers') return true;
    return restarts(container.restartPolicy, exitCode);
  }
  return restarts(spec.restartPolicy ?? 'Always', exitCode);
}

/** Returns the action of the first rule that matches the exit code. */
function matchingAction(container: Container, exitCode: number): string | undefined {
  return (container.restartPolicyRules ?? []).find(({ exitCodes }) => {
    const values: readonly number[] = exitCodes?.values ?? [];
    if (exitCodes?.operator === 'In') return values.includes(exitCode);
    return exitCodes?.operator === 'NotIn' && !values.includes(exitCode);
  })?.action;
}

/** Reports whether the end of this instance restarts all containers of its pod. */
export function restartsAllContainers(container: Container, record: ContainerRecord): boolean {
  return (
    record.state === 'exited' &&
    matchingAction(container, record.exitCode) === 'RestartAllContainers'
  );
}

/** Reports whether all containers of the pod are to be restarted, since one has asked for it. */
export function shouldRestartAllContainers(pod: Pod, status: RuntimePodStatus): boolean {
  if (pod.metadata.deletionTimestamp) return false;
  const { containers, initContainers = [] } = pod.spec;
  return [...initContainers, ...containers].some((container) => {
    const latest = findContainer(status, container.name);
    return latest !== undefined && restartsAllContainers(container, latest);
  });
}

/** Reports whether rules of the pod can restart all of its containers. */
export function mayRestartAllContainers({ spec }: Pod): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
}

function restarts(policy: string, exitCode: number): boolean {
  switch (policy) {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}

/** Reports whether the container does not run, but should. */
export function shouldContainerBeRestarted(
  container: Container,
  pod: Pod,
  status: RuntimePodStatus,
): boolean {
  if (pod.metadata.deletionTimestamp) return false;
  const latest = findContainer(status, container.name);
  if (latest === undefined) return true;
  switch (latest.state) {
    case 'running':
      return false;
    case 'created':
    case 'unknown':
      // The container was never started, or its state is unknown: it is created again.
      return true;
    case 'exited':
      return shouldRestartAfterExit(container, pod.spec ?? { containers: [] }, latest.exitCode);
  }
}
