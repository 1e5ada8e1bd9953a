// Routes of paths that belong to no resource: health, version, discovery, OpenAPI, metrics.

import type { EndpointMeter, Handler } from '../request.ts';

export interface NonResourceRoute {
  handles(path: string): boolean;
  readonly handle: Handler;
  /**
   * Returns the meter that counts requests of the path. Absent: they are not counted, as upstream.
   */
  metricsOf?(path: string): EndpointMeter | undefined;
}
