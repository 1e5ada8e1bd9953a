// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Resource usage of a node. */
export interface NodeMetrics extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The end of the measurement. */
  timestamp: string;
  /** The length of the measurement. */
  window: string;
  /** CPU and memory. */
  usage: core.ResourceList;
}

/** A list of NodeMetrics objects. */
export interface NodeMetricsList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: NodeMetrics[];
}

/** Resource usage of a pod. */
export interface PodMetrics extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The end of the measurement. */
  timestamp: string;
  /** The length of the measurement. */
  window: string;
  /** Each container. */
  containers: ContainerMetrics[];
}

/** A list of PodMetrics objects. */
export interface PodMetricsList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PodMetrics[];
}

/** Resource usage of a container. */
export interface ContainerMetrics {
  /** The container. */
  name: string;
  /** CPU and memory. */
  usage: core.ResourceList;
}
