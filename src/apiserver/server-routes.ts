// The server's paths that belong to no resource, in the order in which they are matched.

import type { Scheme } from '#api/machinery/scheme.ts';
import { HealthEndpoint } from '#machinery/serving/health.ts';
import { HealthSlis } from '#machinery/serving/health-slis.ts';
import { versionInfo } from '#machinery/version-info.ts';
import type { Aggregator } from './aggregator/aggregator.ts';
import type { ServiceAccountTokens } from './authentication/service-account-tokens.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { ApiServerConfig } from './config.ts';
import { createDiscovery } from './discovery/index.ts';
import type { FlowControlMetrics } from './flow-control/index.ts';
import type { NonResourceRoute } from './endpoints/non-resource-route.ts';
import { metricsRoute, slisRoute } from './metrics.ts';
import { createOpenApi } from './openapi/index.ts';
import {
  isDiscoverable,
  JWKS_PATH,
  OPENID_CONFIGURATION_PATH,
  openIdRoutes,
} from './openid-routes.ts';
import { HEALTH_PATHS, type ServerHealth } from './server-health.ts';
import type { ServerMetrics } from './server-metrics.ts';
import { flagzRoute, healthRoute, statuszRoute } from './status-routes.ts';
import { versionRoute } from './version.ts';

/** The name of the server in metrics and at /statusz. */
const COMPONENT = 'apiserver';

export interface ServerRoutesConfig extends Pick<
  ApiServerConfig,
  'clock' | 'logger' | 'flags' | 'otherMetrics' | 'serviceAccounts'
> {
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  readonly version: string;
  readonly health: ServerHealth;
  readonly metrics: ServerMetrics;
  readonly serviceAccountTokens: ServiceAccountTokens | undefined;
  /**
   * Returns the server's external address, 'HOST:PORT'. The port may be unknown until the start.
   */
  readonly externalAddress: () => string;
  readonly aggregator: Aggregator;
  readonly flowControlMetrics: FlowControlMetrics | undefined;
  /** Routes of parts that other modules serve. */
  readonly mounted: readonly NonResourceRoute[];
}

export function createRoutes(config: ServerRoutesConfig): readonly NonResourceRoute[] {
  const {
    catalog,
    scheme,
    version,
    clock,
    logger,
    flags,
    health,
    metrics,
    externalAddress,
    aggregator,
  } = config;
  const slis = new HealthSlis();
  const endpoints = HEALTH_PATHS.map(
    (path) => new HealthEndpoint({ path, checks: () => health.checks(path), logger, slis }),
  );
  const ofHealth = endpoints.map((endpoint) => healthRoute(endpoint, metrics.requests));
  const ofIssuer = issuerRoutes(config);
  const otherPaths = [
    ...HEALTH_PATHS.flatMap((path) => [
      path,
      ...health.checks(path).map(({ name }) => `${path}/${name}`),
    ]),
    '/metrics',
    '/metrics/slis',
    '/openapi/v2',
    '/openapi/v3',
    '/openapi/v3/',
    '/statusz',
    '/version',
    ...(flags === undefined ? [] : ['/flagz']),
    ...(ofIssuer.length === 0 ? [] : [OPENID_CONFIGURATION_PATH, JWKS_PATH]),
  ];
  const build = versionInfo(version);
  return [
    ...config.mounted,
    ...ofHealth,
    slisRoute(slis, endpoints),
    ...ofIssuer,
    statuszRoute(
      {
        component: COMPONENT,
        clock,
        startedAt: clock.now(),
        version: build,
        paths: () => otherPaths,
      },
      metrics.requests,
    ),
    ...(flags === undefined ? [] : [flagzRoute(COMPONENT, flags, metrics.requests)]),
    versionRoute(version),
    createDiscovery({ catalog, otherPaths, externalAddress, aggregated: () => aggregator.groups }),
    createOpenApi({
      catalog,
      scheme,
      version,
      hasIssuer: ofIssuer.length > 0,
      remote: aggregator.openApi,
    }),
    metricsRoute({
      build,
      parts: [
        ...metrics.texts,
        () => aggregator.metricsText() + (config.flowControlMetrics?.text() ?? ''),
        () => config.serviceAccountTokens?.metrics() ?? '',
        () => config.otherMetrics?.() ?? '',
      ],
    }),
  ];
}

/**
 * Returns the routes for discovery of the ServiceAccount issuer; none if the issuer cannot be
 * discovered.
 */
function issuerRoutes(config: ServerRoutesConfig): readonly NonResourceRoute[] {
  const { serviceAccountTokens: tokens, serviceAccounts, externalAddress } = config;
  if (tokens === undefined || !isDiscoverable(tokens.issuer)) return [];
  return openIdRoutes({
    issuer: tokens.issuer,
    published: () => tokens.published(),
    externalAddress,
    jwksUri: serviceAccounts?.jwksUri,
  });
}
