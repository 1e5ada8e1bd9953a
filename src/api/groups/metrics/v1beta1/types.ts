// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface NodeMetrics extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  timestamp: string;
  window: string;
  usage: core.ResourceList;
}

export interface NodeMetricsList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: NodeMetrics[];
}

export interface PodMetrics extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  timestamp: string;
  window: string;
  containers: ContainerMetrics[];
}

export interface PodMetricsList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: PodMetrics[];
}

export interface ContainerMetrics {
  name: string;
  usage: core.ResourceList;
}
