// The parts of the server below its handler chain: who reads objects, calls webhooks,
// authenticates, authorizes, and serves which kinds.

import { newDefaultScheme } from '#api/default-scheme.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { DISCOVERY, stir } from '#machinery/clock.ts';
import { Aggregator } from './aggregator/aggregator.ts';
import {
  type Authentication,
  createAuthentication,
} from './authentication/create-authentication.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { createAuthorizer } from './authorization/create-authorizer.ts';
import { NodeGraphFollower } from './authorization/node/graph-follower.ts';
import { RoleCache } from './authorization/rbac/role-cache.ts';
import { DEFAULT_AUTHORIZERS } from './authorization/settings.ts';
import { Catalog } from './catalog/catalog.ts';
import { Follower } from './catalog/follow.ts';
import { InternalClient } from './catalog/internal-client.ts';
import type { Kind } from './catalog/kind.ts';
import type { ApiServerConfig } from './config.ts';
import { DefinitionConditions } from './extensions/conditions/index.ts';
import { DefinitionFollower } from './extensions/definitions.ts';
import { CustomResourceInstaller } from './extensions/installer.ts';
import { DEFAULT_READS, DEFAULT_WRITES } from './filters/max-in-flight.ts';
import { FlowControl } from './flow-control/index.ts';
import { makeServiceAllocators, type ServiceAllocators } from './kinds/core/service/allocators.ts';
import { buildRegistry } from './kinds/index.ts';
import { kubeletScraper, NodeSamples } from './resource-metrics/index.ts';
import { servedUnder } from './runtime-config.ts';
import { RenewalRecord } from './registry/renewed-states.ts';
import type { ServerEntries } from './server-entries.ts';
import { ServerHealth } from './server-health.ts';
import { ServerMetrics } from './server-metrics.ts';
import { API_SERVER_USER } from './server-user.ts';
import { DEFAULT_VERSION } from './version.ts';
import { WebhookClients } from './webhooks/client/index.ts';

export const DEFAULT_SERVICE_CIDR = '10.96.0.0/12';
const DEFAULT_NODE_PORTS = '30000-32767';

/** The state of the server that its parts depend on. */
export interface ServerState {
  readonly isStopping: () => boolean;
  /** Reports whether other servers serve the objects of this storage. */
  readonly hasOtherServers: () => Promise<boolean>;
}

export interface ServerParts {
  readonly scheme: Scheme;
  readonly version: string;
  /** The kinds of the server. */
  readonly catalog: Catalog;
  readonly metrics: ServerMetrics;
  readonly health: ServerHealth;
  /** Reads and writes objects in the registry. */
  readonly objects: InternalClient;
  /** Sends requests of the server itself through the handler chain. */
  readonly loopback: Client;
  /** Calls webhooks, of admission and of conversions. */
  readonly webhooks: WebhookClients;
  /** The RBAC objects that the server's own authorizer needs. */
  readonly roles: RoleCache;
  /** The states of Leases that were written by renewals of this process. */
  readonly renewed: RenewalRecord;
  readonly nodeGraph: NodeGraphFollower;
  readonly authorizer: Authorizer;
  readonly authentication: Authentication;
  readonly serviceAllocators: ServiceAllocators;
  /** Absent: reads and writes have one limit each. */
  readonly flowControl: FlowControl | undefined;
  readonly flowFollower: Follower | undefined;
  /** Serves the kinds of CustomResourceDefinitions. */
  readonly definitions: DefinitionFollower;
  readonly customResources: CustomResourceInstaller;
  /** The status of CustomResourceDefinitions. */
  readonly conditions: DefinitionConditions;
  /** Forwards requests to other API servers. */
  readonly aggregator: Aggregator;
}

/**
 * Makes the parts, and installs the built-in kinds. Throws RuntimeConfigError, and TypeError for
 * invalid ServiceAccount keys.
 */
export function createServerParts(
  config: ApiServerConfig,
  entries: ServerEntries,
  state: ServerState,
): ServerParts {
  const { clock, logger, random, storage } = config;
  const { version = DEFAULT_VERSION, scheme = newDefaultScheme() } = config;
  const catalog = new Catalog();
  catalog.onChange(() => stir(clock, DISCOVERY));
  const metrics = new ServerMetrics({ clock, logger, storage, version });
  const objects = new InternalClient({ catalog, clock, scheme });
  const webhooks = new WebhookClients({
    find: objects.find,
    findAll: objects.findAll,
    clock,
    random,
    certificateMetrics: metrics.webhookCertificates,
    intercept: config.interceptWebhook,
    ...(config.localWebhooks !== undefined && { local: config.localWebhooks }),
  });
  const loopback = createClient(
    createInProcessTransport({
      handler: entries.inProcess(API_SERVER_USER),
      userAgent: 'kube-apiserver',
      latestHeartbeats: config.latestHeartbeats ?? false,
    }),
  );
  const health = new ServerHealth({
    storage,
    isStopping: state.isStopping,
    otherChecks: () => config.otherChecks?.() ?? [],
  });
  const authorization = createAuthorization(config, { catalog, metrics, webhooks });
  const authentication = createAuthentication(config, { objects, loopback, webhooks });
  const serviceAllocators = makeServiceAllocators({
    client: loopback,
    storage,
    random,
    logger,
    findAll: objects.findAll,
    serviceCidr: config.serviceCidr ?? DEFAULT_SERVICE_CIDR,
    nodePorts: config.serviceNodePortRange ?? DEFAULT_NODE_PORTS,
  });
  const base = {
    renewed: new RenewalRecord(),
    scheme,
    version,
    catalog,
    metrics,
    health,
    objects,
    loopback,
    webhooks,
    ...authorization,
    authentication,
    serviceAllocators,
    ...createFlowControl(config, catalog),
  };
  installBuiltInKinds(config, base);
  return {
    ...base,
    ...createExtensions(config, base, state),
    aggregator: new Aggregator({
      catalog,
      clock,
      random,
      logger,
      client: loopback,
      updateStatus: objects.updateStatus,
      aggregation: config.aggregation,
      requestHeader: config.requestHeader,
      clientCa: config.tls?.clientCa,
    }),
  };
}

function createAuthorization(
  config: ApiServerConfig,
  { catalog, metrics, webhooks }: Pick<ServerParts, 'catalog' | 'metrics' | 'webhooks'>,
): Pick<ServerParts, 'roles' | 'nodeGraph' | 'authorizer'> {
  const { clock, random, logger, localAuthorizer } = config;
  const roles = new RoleCache({ catalog, clock, logger });
  const nodeGraph = new NodeGraphFollower({ catalog, clock, logger });
  const authorizer =
    config.authorizer ??
    createAuthorizer(config.authorizers ?? (() => DEFAULT_AUTHORIZERS), {
      roles,
      nodeGraph,
      clock,
      random,
      logger,
      clients: webhooks,
      metrics: metrics.authorization,
      ...(localAuthorizer !== undefined && { local: localAuthorizer }),
    });
  return { roles, nodeGraph, authorizer };
}

function createFlowControl(
  { clock, logger, maxInFlight, priorityAndFairness }: ApiServerConfig,
  catalog: Catalog,
): Pick<ServerParts, 'flowControl' | 'flowFollower'> {
  if (priorityAndFairness === false) return { flowControl: undefined, flowFollower: undefined };
  const { maxReads = DEFAULT_READS, maxWrites = DEFAULT_WRITES } = maxInFlight ?? {};
  return {
    flowControl: new FlowControl({ clock, seats: maxReads + maxWrites }),
    flowFollower: new Follower({ catalog, clock, logger }),
  };
}

function installBuiltInKinds(
  config: ApiServerConfig,
  parts: Pick<
    ServerParts,
    | 'catalog'
    | 'metrics'
    | 'renewed'
    | 'objects'
    | 'authorizer'
    | 'authentication'
    | 'serviceAllocators'
  >,
): void {
  const { storage, clock, random, logger, nodeConnector, nodeAddressTypes, componentHealth } =
    config;
  const { catalog, metrics, objects, authentication } = parts;
  const kinds = buildRegistry({
    storage,
    storageMetrics: metrics.storage,
    certificateRequestMetrics: metrics.certificateRequests,
    renewed: parts.renewed,
    clock,
    random,
    logger,
    authorizer: parts.authorizer,
    serviceAllocators: parts.serviceAllocators,
    nodeConnector,
    ...(nodeAddressTypes !== undefined && { nodeAddressTypes }),
    componentHealth,
    find: objects.find,
    findAll: objects.findAll,
    updateStatus: objects.updateStatus,
    nodeSamples:
      nodeConnector === undefined || config.resourceMetrics === false
        ? undefined
        : new NodeSamples({ clock, logger, scrape: kubeletScraper(nodeConnector, clock) }),
    serviceAccountTokens: authentication.serviceAccountTokens,
    tokenAuthenticators: authentication.tokenAuthenticators,
    audiences: authentication.audiences,
    eventTtlMs: config.eventTtlMs,
    listsKeepLimit: config.listsKeepLimit,
    detectMutations: config.detectMutations,
  });
  const served = new Set(servedUnder(kinds, config.runtimeConfig ?? {}));
  // The server itself needs objects of some kinds that --runtime-config disables, such as roles.
  const internal = kinds
    .filter((kind) => !served.has(kind))
    .map((kind): Kind => ({ ...kind, visibility: 'internal' }));
  catalog.install([...served, ...internal]);
}

function createExtensions(
  config: ApiServerConfig,
  parts: Pick<ServerParts, 'catalog' | 'scheme' | 'webhooks' | 'metrics' | 'loopback' | 'objects'>,
  { hasOtherServers }: ServerState,
): Pick<ServerParts, 'definitions' | 'customResources' | 'conditions'> {
  const { storage, clock, random, logger, listsKeepLimit, detectMutations } = config;
  const { catalog, scheme, webhooks, metrics } = parts;
  const customResources = new CustomResourceInstaller({
    catalog,
    scheme,
    webhooks,
    conversionMetrics: metrics.conversions,
    ruleTimes: metrics.cel,
    storage,
    storageMetrics: metrics.storage,
    clock,
    random,
    logger,
    ...(listsKeepLimit !== undefined && { listsKeepLimit }),
    ...(detectMutations !== undefined && { detectMutations }),
  });
  return {
    customResources,
    definitions: new DefinitionFollower({ catalog, clock, logger }),
    conditions: new DefinitionConditions({
      catalog,
      clock,
      logger,
      client: parts.loopback,
      find: parts.objects.find,
      isServed: (definition) => customResources.serves(definition),
      sharesStorage: config.sharesStorage === true || config.hasWorkers !== undefined,
      hasOtherServers,
    }),
  };
}
