// /metrics, in Prometheus' text format.

import { collectDefaultMetrics, Registry } from 'prom-client';

import { type BuildInfo, componentMetricsText } from '#machinery/metrics/component-metrics.ts';
import { type HealthEndpoint, sliText } from '#machinery/serving/health.ts';
import type { HealthSlis } from '#machinery/serving/health-slis.ts';
import type { NonResourceRoute } from './endpoints/non-resource-route.ts';

export interface MetricsRouteConfig {
  readonly build: BuildInfo;
  /**
   * Metrics of the parts of the server and of other components of the process, each in Prometheus'
   * text format.
   */
  readonly parts: readonly (() => string | Promise<string>)[];
}

export const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

/** `endpoints`: their checks are performed if there is no result yet. */
export function slisRoute(
  slis: HealthSlis,
  endpoints: readonly HealthEndpoint[],
): NonResourceRoute {
  return {
    handles: (path) => path === '/metrics/slis',
    handle: async () => ({
      code: 200,
      body: {
        kind: 'text',
        contentType: PROMETHEUS_TEXT,
        text: await sliText(slis, endpoints),
      },
    }),
  };
}

export function metricsRoute({ build, parts }: MetricsRouteConfig): NonResourceRoute {
  // Created at the first request, because most clusters in tests never get one.
  let ofProcess: Registry | undefined;
  return {
    handles: (path) => path === '/metrics',
    handle: async () => {
      if (ofProcess === undefined) {
        ofProcess = new Registry();
        collectDefaultMetrics({ register: ofProcess });
      }
      const texts = await Promise.all([...parts.map((part) => part()), ofProcess.metrics()]);
      const text = componentMetricsText(texts.join(''), build);
      return { code: 200, body: { kind: 'text', contentType: PROMETHEUS_TEXT, text } };
    },
  };
}
