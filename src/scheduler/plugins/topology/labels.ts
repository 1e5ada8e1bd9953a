// Labels of nodes as topologies.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Node } from '#scheduler/framework/objects.ts';

export const HOSTNAME = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';

/** Returns the node's value of a topology; undefined if it has none. */
export function topologyValue(node: Immutable<Node> | undefined, key: string): string | undefined {
  const labels = node?.metadata.labels;
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}
