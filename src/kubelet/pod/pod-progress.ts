// The progress of a pod on this node, on which both its actions and its status depend.

import type { Pod } from '../types.ts';
import { findContainer, type RuntimePodStatus } from './pod-status.ts';

export interface SandboxDecision {
  readonly changed: boolean;
  readonly attempt: number;
  readonly sandboxId: string;
}

/**
 * Reports whether the pod needs a new sandbox: it has none, its sandbox is not ready, or its
 * sandbox has another network mode than the spec.
 */
export function podSandboxChanged(pod: Pod, status: RuntimePodStatus): SandboxDecision {
  const newest = status.sandboxes[0];
  if (newest === undefined) return { changed: true, attempt: 0, sandboxId: '' };
  const replaced: SandboxDecision = {
    changed: true,
    attempt: newest.attempt + 1,
    sandboxId: newest.id,
  };
  const ready = status.sandboxes.filter((sandbox) => sandbox.ready).length;
  if (ready > 1 || !newest.ready) return replaced;
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (newest.hostNetwork !== hostNetwork) return { ...replaced, sandboxId: '' };
  if (!hostNetwork && newest.ips.length === 0) return replaced;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}

/**
 * Reports whether a regular container was ever created. If so, every init container had succeeded.
 */
export function hasAnyContainerCreated(pod: Pod, status: RuntimePodStatus): boolean {
  return (pod.spec?.containers ?? []).some((container) => {
    const state = findContainer(status, container.name)?.state;
    return state !== undefined && state !== 'unknown';
  });
}
