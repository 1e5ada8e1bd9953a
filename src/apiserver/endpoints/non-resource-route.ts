// Handlers of paths that belong to no resource: health, version, discovery, OpenAPI, metrics.

import type { EndpointMeter, Handler } from '../request.ts';

export interface NonResourceRoute {
  handles(path: string): boolean;
  readonly handle: Handler;
  /** Where requests of the path are counted. Absent: they are not, as upstream. */
  metricsOf?(path: string): EndpointMeter | undefined;
}
