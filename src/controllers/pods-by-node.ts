// The index of pods by node.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export const BY_NODE = 'node';

/** Returns the pod's node. Unbound pods are in no node's list. */
export function byNode(pod: Immutable<Pod>): readonly string[] {
  return pod.spec.nodeName ? [pod.spec.nodeName] : [];
}
