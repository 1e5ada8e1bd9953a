// The fields that NodeMetrics and PodMetrics share, and their columns.

import { formatDuration } from '#machinery/text/duration.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { Clock } from '#machinery/clock.ts';
import type { FindAll } from '#apiserver/catalog/internal-client.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { NodeTargetServices } from '#apiserver/node-proxy/pod-target.ts';
import type { NodeSamples, Usage } from '#apiserver/resource-metrics/index.ts';
import { NAME } from '#apiserver/tables/columns.ts';
import type { TableColumn } from '#apiserver/tables/table.ts';

export interface ResourceMetricsServices extends NodeTargetServices {
  readonly clock: Clock;
  readonly findAll: FindAll;
  /** The usage of nodes. Absent: the server cannot reach kubelets, and does not serve metrics. */
  readonly nodeSamples?: NodeSamples;
}

/** The kind List of a metric has no resourceVersion, because it is measured, not stored. */
export const NO_VERSION = '';

const resourceColumn = (name: string, format = 'quantity'): TableColumn => ({
  name,
  type: 'string',
  format,
  description: '',
});

/** The columns of metrics-server. */
export const METRICS_COLUMNS: readonly TableColumn[] = [
  { ...NAME, description: 'Name of the resource' },
  resourceColumn('cpu'),
  resourceColumn('memory'),
  resourceColumn('Window', 'duration'),
];

const KI = 1024;

/** Returns the resources that are used. Memory has the unit KiB if it is a multiple. */
export function resourcesOf({
  nanoCores,
  memoryBytes,
}: Usage): Readonly<Record<'cpu' | 'memory', string>> {
  const memory = memoryBytes % KI === 0 ? `${memoryBytes / KI}Ki` : String(memoryBytes);
  return { cpu: `${nanoCores}n`, memory };
}

export function measuredAt({ time, windowMs }: Usage): {
  readonly timestamp: string;
  readonly window: string;
} {
  return { timestamp: formatTime(time), window: formatDuration(windowMs) };
}

/** Returns the visibility of a kind of metrics. */
export function visibility(services: ResourceMetricsServices): Kind['visibility'] {
  return services.nodeSamples === undefined ? 'internal' : 'published';
}
