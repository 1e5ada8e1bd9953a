// /metrics, in the text form that Prometheus reads.

import { collectDefaultMetrics, Registry } from 'prom-client';

import type { NonResourceRoute } from './endpoints/router.ts';
import type { RequestMetrics } from './filters/request-metrics.ts';

/** `others`: what other components of the process have to say, in the same form. */
export function metricsRoute(requests: RequestMetrics, others: () => string | Promise<string> = () => ''): NonResourceRoute {
  // Made when it is first asked for: most clusters in tests are never asked.
  let registry: Registry | undefined;
  return {
    handles: (path) => path === '/metrics',
    handle: async () => {
      if (registry === undefined) {
        registry = new Registry();
        requests.register(registry);
        collectDefaultMetrics({ register: registry });
      }
      return {
        code: 200,
        body: { kind: 'text', contentType: registry.contentType, text: (await registry.metrics()) + (await others()) },
      };
    },
  };
}
