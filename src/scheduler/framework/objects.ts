// The API objects that scheduling reads, as informers hand them out: immutable.

import type { Node as CoreNode, Pod as CorePod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type Pod = Immutable<CorePod>;
export type Node = Immutable<CoreNode>;

/** Returns the pod as bound to the node. */
export function onNode(pod: Pod, nodeName: string): Pod {
  return { ...pod, spec: { ...pod.spec, nodeName } };
}

/** namespace/name, as logs and messages name a pod. */
export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`;
}
