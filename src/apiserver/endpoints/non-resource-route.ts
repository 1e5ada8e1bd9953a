// Handlers of paths that belong to no resource: health, version, discovery, OpenAPI, metrics.

import type { EndpointMetrics } from '../filters/endpoint-metrics.ts';
import type { Handler } from '../request.ts';

export interface NonResourceRoute {
  handles(path: string): boolean;
  readonly handle: Handler;
  /** Where requests of the path are counted. Absent: they are not, as upstream. */
  metricsOf?(path: string): EndpointMetrics | undefined;
}
