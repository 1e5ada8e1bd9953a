// Decides whether a container that does not run should be restarted: by the pod's restart policy,
// the container's own policy, and its rules on exit codes.

import type { Container, Pod, PodSpec } from '../types.ts';
import { findContainer, type RuntimePodStatus } from './pod-status.ts';

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
    for (const rule of container.restartPolicyRules ?? []) {
      const values: readonly number[] = rule.exitCodes?.values ?? [];
      const matches =
        rule.exitCodes !== undefined &&
        (rule.exitCodes.operator === 'In'
          ? values.includes(exitCode)
          : rule.exitCodes.operator === 'NotIn' && !values.includes(exitCode));
      if (matches && rule.action === 'Restart') return true;
    }
    return restarts(container.restartPolicy, exitCode);
  }
  return restarts(spec.restartPolicy ?? 'Always', exitCode);
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
