// The server's handler chain, and the parts that only it needs: admission, routes that belong to no
// resource, the audit log, and heartbeats of nodes beside the chain.

import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { AdmissionChain } from './admission/chain.ts';
import { admissionPlugins } from './admission/defaults.ts';
import { webhookAccess } from './admission/webhook/index.ts';
import { AuditLog } from './audit/index.ts';
import type { ApiServerConfig } from './config.ts';
import { Router } from './endpoints/router.ts';
import { userOfCredentials } from './filters/authentication.ts';
import { Deadlines } from './filters/deadline.ts';
import { maxInFlight } from './filters/max-in-flight.ts';
import { flowControlFilter } from './flow-control/index.ts';
import { buildHandlerChain } from './handler-chain.ts';
import type { Mount } from './mount.ts';
import { NodeHeartbeats } from './heartbeats/index.ts';
import type { Filter, Handler } from './request.ts';
import type { ServerEntries } from './server-entries.ts';
import type { ServerParts } from './server-parts.ts';
import { createRoutes } from './server-routes.ts';

const unchanged: Filter = (next) => next;

/** The surroundings of the chain. */
export interface HandlerServices {
  readonly entries: ServerEntries;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

export interface ServerHandler {
  /** The whole handler chain, which gets the requests of every entry. */
  readonly handler: Handler;
  readonly deadlines: Deadlines;
  readonly audit: AuditLog | undefined;
  /** Absent: each renewal of a Lease is a request. */
  readonly heartbeats: NodeHeartbeats | undefined;
  /** Stops the admission plugins. */
  readonly stopAdmission: () => void;
}

/** Throws UnknownAdmissionPluginError. */
export function createServerHandler(
  config: ApiServerConfig,
  parts: ServerParts,
  services: HandlerServices,
): ServerHandler {
  const { clock, logger, random } = config;
  const { catalog, scheme, metrics, authentication, authorizer, aggregator, flowControl } = parts;
  const mounts = createMounts(config, parts, services);
  const routes = createRoutes({
    ...config,
    catalog,
    scheme,
    version: parts.version,
    health: parts.health,
    metrics,
    serviceAccountTokens: authentication.serviceAccountTokens,
    externalAddress: () => services.entries.externalAddress(),
    aggregator,
    flowControlMetrics: flowControl?.metrics,
    mounted: mounts.flatMap(({ routes: mounted }) => mounted),
  });
  const onStop: (() => void)[] = [];
  const admission = createAdmission(config, parts, (callback) => onStop.push(callback));
  const audit =
    config.audit === undefined
      ? undefined
      : new AuditLog(config.audit, { clock, logger, random, metrics: metrics.audit });
  const minWatchTimeoutMs = config.minWatchTimeoutMs ?? 30 * 60_000;
  const router = new Router({
    services: { scheme, catalog, admission, authorizer, clock, random, minWatchTimeoutMs },
    routes,
    metrics: metrics.requests,
  });
  const deadlines = new Deadlines({ clock, timeoutMs: config.requestTimeoutMs ?? 60_000 });
  const chain = buildHandlerChain(
    {
      clock,
      logger,
      metrics: metrics.requests,
      deadlines,
      authenticators: authentication.authenticators,
      anonymous:
        config.anonymous ??
        (config.bootstrapTokens === true
          ? 'health, version and cluster-info'
          : 'health and version'),
      authorizer,
      limits:
        flowControl === undefined
          ? maxInFlight(config.maxInFlight)
          : flowControlFilter(flowControl),
      mounts: mounts.map(({ filter }) => filter),
      ...(config.strictTransportSecurity !== undefined && {
        strictTransportSecurity: config.strictTransportSecurity,
      }),
      ...(audit !== undefined && { audit: audit.filters }),
    },
    (config.intercept ?? unchanged)(aggregator.wrap(router.handle)),
  );
  return {
    handler: config.wrapHandler?.(chain) ?? chain,
    deadlines,
    audit,
    heartbeats: createHeartbeats(config, parts, { admission, audit, signal: services.signal }),
    stopAdmission: () => {
      for (const callback of onStop) callback();
    },
  };
}

/** Returns the stages and routes of parts that other modules serve. */
function createMounts(
  { mounts }: ApiServerConfig,
  { authentication }: ServerParts,
  { entries, signal }: HandlerServices,
): readonly Mount[] {
  return (mounts ?? []).map((mount) =>
    mount({
      authenticate: (credentials) => userOfCredentials(credentials, authentication.authenticators),
      clientOf: (user, userAgent) =>
        createClient(createInProcessTransport({ handler: entries.inProcess(user), userAgent })),
      signal,
    }),
  );
}

function createAdmission(
  config: ApiServerConfig,
  parts: ServerParts,
  onStop: (callback: () => void) => void,
): AdmissionChain {
  const { clock, random, logger, webhookKubeconfigs, admissionSettings } = config;
  const { catalog, scheme, metrics, objects, authorizer, webhooks, loopback } = parts;
  const { find, findAll, appears, updateStatus } = objects;
  const plugins = admissionPlugins(
    {
      find,
      findAll,
      appears,
      updateStatus,
      catalog,
      scheme,
      authorizer,
      clock,
      random,
      logger,
      policyMetrics: metrics.policies,
      celMetrics: metrics.cel,
      webhooks,
      webhookMetrics: metrics.webhooks,
      ...(webhookKubeconfigs !== undefined && {
        webhookAccess: webhookAccess(webhookKubeconfigs, clock),
      }),
      podSecurity: config.podSecurity,
      podSecurityMetrics: metrics.podSecurity,
      mountTokens: config.serviceAccounts?.mountTokens ?? false,
      defaultTolerationSeconds: config.defaultTolerationSeconds,
      client: loopback,
      ...(admissionSettings !== undefined && { plugins: admissionSettings }),
      onStop,
    },
    { enabled: config.enableAdmissionPlugins, disabled: config.disableAdmissionPlugins },
  );
  return new AdmissionChain([...plugins, ...(config.admissionPlugins ?? [])], {
    clock,
    metrics: metrics.admission,
  });
}

function createHeartbeats(
  { storage, clock, intercept, wrapHandler }: ApiServerConfig,
  { catalog, authorizer, metrics, flowControl, aggregator, renewed }: ServerParts,
  {
    admission,
    audit,
    signal,
  }: {
    readonly admission: AdmissionChain;
    readonly audit: AuditLog | undefined;
    readonly signal: AbortSignal;
  },
): NodeHeartbeats | undefined {
  // Parts that see each request of the process would miss these.
  const isSeen = intercept !== undefined || wrapHandler !== undefined;
  if (flowControl === undefined || isSeen) return undefined;
  return new NodeHeartbeats({
    storage,
    clock,
    catalog,
    authorizer,
    admission,
    metrics: metrics.requests,
    flowControl,
    renewed,
    ...(audit !== undefined && { audit }),
    serves: (type) => !signal.aborted && aggregator.servesLocally(type),
  });
}
