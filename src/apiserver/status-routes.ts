// The paths at which the API server publishes its state: health, statusz and flagz.

import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import type { NonResourceRoute } from './endpoints/non-resource-route.ts';
import type { RequestMetrics } from './endpoints/request-metrics.ts';
import {
  type HealthEndpoint,
  NOSNIFF,
  TEXT,
  type TextResponse,
} from '#machinery/serving/health.ts';
import type { ApiRequest, ApiResponse } from './request.ts';
import { flagz, statusz, type StatuszConfig } from '#machinery/serving/zpages.ts';

export function healthRoute(endpoint: HealthEndpoint, metrics: RequestMetrics): NonResourceRoute {
  const { path } = endpoint;
  // Only requests of the path itself are counted, not those of single checks, as upstream.
  const counted = metrics.endpoint({
    group: '',
    version: '',
    resource: '',
    subresource: path,
    component: '',
  });
  return {
    handles: (requested) => endpoint.handles(requested),
    metricsOf: (requested) => (requested === path ? counted : undefined),
    handle: async (request) => {
      const response = await endpoint.respond(request.path, request.query);
      return response === undefined ? notFound() : asResponse(response);
    },
  };
}

export function statuszRoute(config: StatuszConfig, metrics: RequestMetrics): NonResourceRoute {
  return zpageRoute('statusz', config.component, metrics, ({ headers, query }) =>
    statusz({ headers, query, formatYaml: formatYamlLazily }, config),
  );
}

export function flagzRoute(
  component: string,
  flags: Readonly<Record<string, string>>,
  metrics: RequestMetrics,
): NonResourceRoute {
  return zpageRoute('flagz', component, metrics, ({ headers, query }) =>
    flagz({ headers, query, formatYaml: formatYamlLazily }, component, flags),
  );
}

function zpageRoute(
  resource: string,
  component: string,
  metrics: RequestMetrics,
  page: (request: ApiRequest) => Promise<TextResponse>,
): NonResourceRoute {
  const counted = metrics.endpoint({
    group: '',
    version: '',
    resource,
    subresource: '',
    component,
  });
  return {
    handles: (path) => path === `/${resource}`,
    metricsOf: () => counted,
    handle: async (request) => asResponse(await page(request)),
  };
}

function asResponse({ code, contentType, text, headers }: TextResponse): ApiResponse {
  return {
    code,
    body: { kind: 'text', contentType, text },
    ...(headers !== undefined && { headers }),
  };
}

/** Returns upstream's response for paths that are not served. */
export function notFound(): ApiResponse {
  return {
    code: 404,
    headers: NOSNIFF,
    body: { kind: 'text', contentType: TEXT, text: '404 page not found\n' },
  };
}
