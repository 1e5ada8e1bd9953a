// The API objects that scheduling reads, in the immutable form of informers.

import type { Node as CoreNode, Pod as CorePod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type Pod = Immutable<CorePod>;
export type Node = Immutable<CoreNode>;

/** Returns the pod as bound to the node. */
export function onNode(pod: Pod, nodeName: string): Pod {
  return { ...pod, spec: { ...pod.spec, nodeName } };
}

/** Returns namespace/name, for logs and messages. */
export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`;
}
