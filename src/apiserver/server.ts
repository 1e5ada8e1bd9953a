// The API server, composed from the parts in this folder. `listen` opens its port; without it only
// in-process clients can connect, and no socket is opened.

import type { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport, type InProcessHandler } from '#client/in-process.ts';
import { DISCOVERY, stir } from '#machinery/clock.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { LinkedList } from '#machinery/collections/linked-list.ts';
import { formatIp } from '#machinery/net/ip.ts';
import { Aggregator } from './aggregator/aggregator.ts';
import { AdmissionChain } from './admission/chain.ts';
import { webhookAccess } from './admission/webhook/index.ts';
import { admissionPlugins } from './admission/defaults.ts';
import {
  type Authentication,
  createAuthentication,
} from './authentication/create-authentication.ts';
import { keepTokenTracking } from './authentication/legacy-token-tracking.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { createAuthorizer } from './authorization/create-authorizer.ts';
import { NodeGraphFollower } from './authorization/node/graph-follower.ts';
import { keepBootstrapPolicy } from './authorization/policy/reconcile.ts';
import { RoleCache } from './authorization/rbac/role-cache.ts';
import { DEFAULT_AUTHORIZERS } from './authorization/settings.ts';
import { createBootstrapObjects, keepKubernetesService } from './bootstrap.ts';
import { Catalog } from './catalog/catalog.ts';
import { Follower } from './catalog/follow.ts';
import { InternalClient } from './catalog/internal-client.ts';
import type { Kind } from './catalog/kind.ts';
import type { ApiServerConfig } from './config.ts';
import { Router } from './endpoints/router.ts';
import { CustomResourceInstaller } from './extensions/installer.ts';
import { DefinitionConditions } from './extensions/conditions/index.ts';
import { DefinitionFollower } from './extensions/definitions.ts';
import { userOfCredentials } from './filters/authentication.ts';
import { Deadlines } from './filters/deadline.ts';
import { DEFAULT_READS, DEFAULT_WRITES, maxInFlight } from './filters/max-in-flight.ts';
import { FlowControl, flowControlFilter } from './flow-control/index.ts';
import { AuditLog } from './audit/index.ts';
import { buildHandlerChain } from './handler-chain.ts';
import { Listener } from './http/listener.ts';
import { LocalConnections } from './http/local-connections.ts';
import { serviceAddressRanges } from './kinds/core/service/address-range.ts';
import { makeServiceAllocators, type ServiceAllocators } from './kinds/core/service/allocators.ts';
import { buildRegistry } from './kinds/index.ts';
import { advertisedAddress, OwnEndpoints } from './own-endpoints.ts';
import { type LeaseRenewalBatch, LeaseRenewals } from './renewals/index.ts';
import { kubeletScraper, NodeSamples } from './resource-metrics/index.ts';
import { StartWrites } from './start-writes.ts';
import type { ApiResponse, Filter, Handler, UserInfo } from './request.ts';
import { RequestState } from './request-state.ts';
import { servedUnder } from './runtime-config.ts';
import { AGGREGATION_HOOKS, ServerHealth } from './server-health.ts';
import { ServerMetrics } from './server-metrics.ts';
import { createRoutes } from './server-routes.ts';
import { API_SERVER_USER } from './server-user.ts';
import { ServiceRepair } from './service-repair/index.ts';
import { DEFAULT_VERSION } from './version.ts';
import { WebhookClients } from './webhooks/client/index.ts';

const DEFAULT_PORT = 6443;
const DEFAULT_SERVICE_CIDR = '10.96.0.0/12';
const DEFAULT_NODE_PORTS = '30000-32767';
const LEAVE_TIMEOUT_MS = 2000;
const unchanged: Filter = (next) => next;
const STOPPING = apierrors.serviceUnavailable('the API server is shutting down');

export class ApiServer {
  /** The kinds of the server. */
  readonly catalog = new Catalog();
  readonly #config: ApiServerConfig;
  /** The whole handler chain, which gets the requests of every entry. */
  readonly handler: Handler;
  readonly #deadlines: Deadlines;
  /** Absent: reads and writes have one limit each. */
  readonly #flowControl: FlowControl | undefined;
  readonly #flowFollower: Follower | undefined;
  /** The RBAC objects that the server's own authorizer needs. */
  readonly #roles: RoleCache;
  readonly #nodeGraph: NodeGraphFollower;
  /** Reads and writes objects in the registry. */
  readonly #objects: InternalClient;
  /** Sends requests of the server itself through the handler chain. */
  readonly #loopback: Client;
  /** Calls webhooks, of admission and of conversions. */
  readonly #webhooks: WebhookClients;
  readonly #serviceAllocators: ServiceAllocators;
  /** Forwards requests to other API servers. */
  readonly #aggregator: Aggregator;
  /** Serves the kinds of CustomResourceDefinitions. */
  readonly #definitions: DefinitionFollower;
  readonly #customResources: CustomResourceInstaller;
  /** The status of CustomResourceDefinitions. */
  readonly #conditions: DefinitionConditions;
  /** Ends the background work. */
  readonly #background = new AbortController();
  #backgroundWork: Promise<unknown> = Promise.resolve();
  #ownEndpoints: OwnEndpoints | undefined;
  #startWrites: StartWrites | undefined;
  #stopped = false;
  readonly #onStop: (() => void)[] = [];
  #listener: Listener | undefined;
  #port: number | undefined;
  #advertised: string | undefined;
  /** In-process requests in flight. */
  readonly #inProcess = new LinkedList<RequestState>();
  #local: LocalConnections | undefined;
  readonly #health: ServerHealth;
  readonly #audit: AuditLog | undefined;
  /** Absent: each renewal of a Lease is a request. */
  readonly #renewals: LeaseRenewals | undefined;
  #stopping: Promise<void> | undefined;

  /**
   * Builds the server. Throws RuntimeConfigError, UnknownAdmissionPluginError, and TypeError for
   * invalid ServiceAccount keys.
   */
  constructor(config: ApiServerConfig) {
    const {
      clock,
      logger,
      random,
      storage,
      version = DEFAULT_VERSION,
      scheme = newDefaultScheme(),
    } = config;
    const { catalog } = this;
    catalog.onChange(() => stir(clock, DISCOVERY));
    this.#config = config;
    const metrics = new ServerMetrics({ clock, logger, storage, version });
    this.#objects = new InternalClient({ catalog, clock, scheme });
    this.#webhooks = new WebhookClients({
      find: this.#objects.find,
      findAll: this.#objects.findAll,
      clock,
      random,
      certificateMetrics: metrics.webhookCertificates,
      intercept: config.interceptWebhook,
      ...(config.localWebhooks !== undefined && { local: config.localWebhooks }),
    });
    this.#loopback = createClient(
      createInProcessTransport({
        handler: this.inProcess(API_SERVER_USER),
        userAgent: 'kube-apiserver',
        latestHeartbeats: config.latestHeartbeats ?? false,
      }),
    );
    this.#health = new ServerHealth({
      storage,
      isStopping: () => this.#stopping !== undefined,
      otherChecks: () => config.otherChecks?.() ?? [],
    });

    this.#roles = new RoleCache({ catalog, clock, logger });
    this.#nodeGraph = new NodeGraphFollower({ catalog, clock, logger });
    const authorizer =
      config.authorizer ??
      createAuthorizer(config.authorizers ?? (() => DEFAULT_AUTHORIZERS), {
        roles: this.#roles,
        nodeGraph: this.#nodeGraph.graph,
        clock,
        random,
        logger,
        clients: this.#webhooks,
        metrics: metrics.authorization,
        ...(config.localAuthorizer !== undefined && { local: config.localAuthorizer }),
      });
    const authentication = createAuthentication(config, {
      objects: this.#objects,
      loopback: this.#loopback,
      webhooks: this.#webhooks,
    });

    this.#serviceAllocators = makeServiceAllocators({
      client: this.#loopback,
      storage,
      random,
      logger,
      findAll: this.#objects.findAll,
      serviceCidr: config.serviceCidr ?? DEFAULT_SERVICE_CIDR,
      nodePorts: config.serviceNodePortRange ?? DEFAULT_NODE_PORTS,
    });
    const { maxReads = DEFAULT_READS, maxWrites = DEFAULT_WRITES } = config.maxInFlight ?? {};
    if (config.priorityAndFairness !== false) {
      this.#flowControl = new FlowControl({ clock, seats: maxReads + maxWrites });
      this.#flowFollower = new Follower({ catalog, clock, logger });
    }
    this.#definitions = new DefinitionFollower({ catalog, clock, logger });
    this.#conditions = new DefinitionConditions({
      catalog,
      clock,
      logger,
      client: this.#loopback,
      find: this.#objects.find,
      isServed: (definition) => this.#customResources.serves(definition),
      sharesStorage: config.sharesStorage === true || config.hasWorkers !== undefined,
      hasOtherServers: () => this.#hasOtherServers(),
    });
    this.#installBuiltInKinds(metrics, authorizer, authentication);
    const { detectMutations } = config;
    this.#customResources = new CustomResourceInstaller({
      catalog,
      scheme,
      webhooks: this.#webhooks,
      conversionMetrics: metrics.conversions,
      ruleTimes: metrics.cel,
      storage,
      storageMetrics: metrics.storage,
      clock,
      random,
      logger,
      ...(detectMutations !== undefined && { detectMutations }),
    });

    this.#aggregator = new Aggregator({
      catalog,
      clock,
      random,
      logger,
      client: this.#loopback,
      updateStatus: this.#objects.updateStatus,
      aggregation: config.aggregation,
      requestHeader: config.requestHeader,
      clientCa: config.tls?.clientCa,
    });
    const mounts = (config.mounts ?? []).map((mount) =>
      mount({
        authenticate: (credentials) =>
          userOfCredentials(credentials, authentication.authenticators),
        clientOf: (user, userAgent) =>
          createClient(createInProcessTransport({ handler: this.inProcess(user), userAgent })),
        signal: this.#background.signal,
      }),
    );
    const routes = createRoutes({
      ...config,
      catalog,
      scheme,
      version,
      health: this.#health,
      metrics,
      serviceAccountTokens: authentication.serviceAccountTokens,
      externalAddress: () => this.#externalAddress(),
      aggregator: this.#aggregator,
      flowControlMetrics: this.#flowControl?.metrics,
      mounted: mounts.flatMap(({ routes: mounted }) => mounted),
    });
    const admission = this.#createAdmission(scheme, metrics, authorizer);
    const services = {
      scheme,
      catalog,
      admission,
      authorizer,
      clock,
      random,
      minWatchTimeoutMs: config.minWatchTimeoutMs ?? 30 * 60_000,
    };
    if (config.audit !== undefined)
      this.#audit = new AuditLog(config.audit, { clock, logger, random, metrics: metrics.audit });
    const router = new Router({ services, routes, metrics: metrics.requests });
    this.#deadlines = new Deadlines({ clock, timeoutMs: config.requestTimeoutMs ?? 60_000 });
    const handler = buildHandlerChain(
      {
        clock,
        logger,
        metrics: metrics.requests,
        deadlines: this.#deadlines,
        authenticators: authentication.authenticators,
        anonymous: config.anonymous,
        authorizer,
        limits:
          this.#flowControl === undefined
            ? maxInFlight(config.maxInFlight)
            : flowControlFilter(this.#flowControl),
        mounts: mounts.map(({ filter }) => filter),
        ...(this.#audit !== undefined && { audit: this.#audit.filters }),
      },
      (config.intercept ?? unchanged)(this.#aggregator.wrap(router.handle)),
    );
    this.handler = config.wrapHandler?.(handler) ?? handler;
    // Parts that see each request of the process would miss these.
    const isSeen = config.intercept !== undefined || config.wrapHandler !== undefined;
    if (this.#flowControl !== undefined && !isSeen) {
      this.#renewals = new LeaseRenewals({
        storage,
        clock,
        catalog,
        authorizer,
        admission,
        metrics: metrics.requests,
        flowControl: this.#flowControl,
        ...(this.#audit !== undefined && { audit: this.#audit }),
        serves: () => !this.#stopped && this.#aggregator.servesLocally(leases),
      });
    }
  }

  #installBuiltInKinds(
    metrics: ServerMetrics,
    authorizer: Authorizer,
    authentication: Authentication,
  ): void {
    const {
      storage,
      clock,
      random,
      logger,
      nodeConnector,
      componentHealth,
      eventTtlMs,
      detectMutations,
    } = this.#config;
    const kinds = buildRegistry({
      storage,
      storageMetrics: metrics.storage,
      clock,
      random,
      logger,
      authorizer,
      serviceAllocators: this.#serviceAllocators,
      nodeConnector,
      componentHealth,
      find: this.#objects.find,
      findAll: this.#objects.findAll,
      updateStatus: this.#objects.updateStatus,
      nodeSamples:
        nodeConnector === undefined
          ? undefined
          : new NodeSamples({ clock, logger, scrape: kubeletScraper(nodeConnector, clock) }),
      serviceAccountTokens: authentication.serviceAccountTokens,
      tokenAuthenticators: authentication.tokenAuthenticators,
      audiences: authentication.audiences,
      eventTtlMs,
      detectMutations,
    });
    const served = new Set(servedUnder(kinds, this.#config.runtimeConfig ?? {}));
    // The server itself needs objects of some kinds that --runtime-config disables, such as roles.
    const internal = kinds
      .filter((kind) => !served.has(kind))
      .map((kind): Kind => ({ ...kind, visibility: 'internal' }));
    this.catalog.install([...served, ...internal]);
  }

  #createAdmission(scheme: Scheme, metrics: ServerMetrics, authorizer: Authorizer): AdmissionChain {
    const { clock, random, logger, podSecurity, serviceAccounts, defaultTolerationSeconds } =
      this.#config;
    const { find, findAll, appears, updateStatus } = this.#objects;
    const plugins = admissionPlugins(
      {
        find,
        findAll,
        appears,
        updateStatus,
        catalog: this.catalog,
        scheme,
        authorizer,
        clock,
        random,
        logger,
        policyMetrics: metrics.policies,
        celMetrics: metrics.cel,
        webhooks: this.#webhooks,
        webhookMetrics: metrics.webhooks,
        ...(this.#config.webhookKubeconfigs !== undefined && {
          webhookAccess: webhookAccess(this.#config.webhookKubeconfigs, clock),
        }),
        podSecurity,
        podSecurityMetrics: metrics.podSecurity,
        mountTokens: serviceAccounts?.mountTokens ?? false,
        defaultTolerationSeconds,
        client: this.#loopback,
        ...(this.#config.admissionSettings !== undefined && {
          plugins: this.#config.admissionSettings,
        }),
        onStop: (callback) => this.#onStop.push(callback),
      },
      {
        enabled: this.#config.enableAdmissionPlugins,
        disabled: this.#config.disableAdmissionPlugins,
      },
    );
    return new AdmissionChain([...plugins, ...(this.#config.admissionPlugins ?? [])], {
      clock,
      metrics: metrics.admission,
    });
  }

  /**
   * Creates the objects of a new cluster, and starts the background work. Must be called once,
   * before other clients connect. Objects that exist already stay unchanged.
   */
  async start(): Promise<void> {
    if (this.#config.worker === true) return this.#startAsWorker();
    const client = this.#loopback;
    const { clock, random, logger } = this.#config;
    const port = this.#port ?? this.#config.port ?? DEFAULT_PORT;
    const serviceCidr = this.#config.serviceCidr ?? DEFAULT_SERVICE_CIDR;
    const serviceIp = firstAddress(serviceCidr);
    const repair = new ServiceRepair({
      client,
      clock,
      random,
      logger,
      cidrs: serviceCidr.split(','),
      ports: this.#serviceAllocators.ports,
      listServices: () => this.#objects.findAll('', 'services', ''),
      keepKubernetesService: () => keepKubernetesService({ client, serviceIp, port, clock }),
    });
    const health = this.#health;
    // The storage was opened, and its caches filled, before the server was created.
    health.finish('start-apiserver-admission-initializer', 'storage-readiness');
    // The conditions depend on the installed kinds.
    await this.#definitions.start([this.#customResources, this.#conditions]);
    health.finish(
      'start-apiextensions-informers',
      'start-apiextensions-controllers',
      'crd-informer-synced',
    );
    const writes = new StartWrites({ hasWebhooks: () => this.#hasWebhooks(), clock, logger });
    this.#startWrites = writes;
    await writes.attempt('addresses of services', () => repair.begin());
    health.finish(
      'start-service-ip-repair-controllers',
      'start-kubernetes-service-cidr-controller',
    );
    await createBootstrapObjects({ client, catalog: this.catalog, serviceIp, port, clock, writes });
    await this.#aggregator.start();
    await writes.attempt('API services', () => this.#aggregator.registerLocal());
    health.finish(
      'start-system-namespaces-controller',
      'scheduling/bootstrap-system-priority-classes',
    );
    if (this.#flowFollower !== undefined) await this.#flowControl?.start(this.#flowFollower);
    health.finish('priority-and-fairness-config-producer', ...AGGREGATION_HOOKS);
    // From here on other users have the permissions of their roles. The roles of every cluster are
    // effective at once.
    await writes.attempt('roles', () => keepBootstrapPolicy(client, this.catalog.snapshot()));
    health.finish('rbac/bootstrap-roles');
    if (this.#config.serviceAccounts !== undefined) {
      await writes.attempt('the ConfigMap of token tracking', () =>
        keepTokenTracking(client, clock),
      );
    }
    health.finish('start-legacy-token-tracking-controller');
    if (this.#config.authorizer === undefined)
      await Promise.all([this.#roles.start(), this.#nodeGraph.start()]);
    health.finish('generic-apiserver-start-informers');
    const address =
      this.#config.advertiseAddress ?? advertisedAddress(this.#config.bindAddress ?? '127.0.0.1');
    // A server without a port has no endpoints.
    if (this.#port !== undefined && address !== undefined) {
      const { storage, sharesStorage: shared = false } = this.#config;
      this.#ownEndpoints = new OwnEndpoints({
        client,
        storage,
        clock,
        logger,
        address,
        port,
        shared,
      });
      await this.#ownEndpoints.join();
    }
    health.finish('bootstrap-controller');
    const signal = sharedByMany(this.#background.signal);
    const repairing = repair.run(signal).catch((error: unknown) => {
      logger.error('service repair: failed and stopped', { err: error });
    });
    this.#backgroundWork = Promise.all([
      repairing,
      this.#conditions.run(signal),
      this.#ownEndpoints?.run(signal),
      this.#aggregator.run(signal),
    ]);
  }

  /** Starts to follow what the main server writes. */
  async #startAsWorker(): Promise<void> {
    await this.#definitions.start([this.#customResources]);
    await this.#aggregator.start();
    this.#aggregator.expectRegistered();
    if (this.#flowFollower !== undefined) await this.#flowControl?.start(this.#flowFollower);
    if (this.#config.authorizer === undefined)
      await Promise.all([this.#roles.start(), this.#nodeGraph.start()]);
    this.#health.finishAll();
    const signal = sharedByMany(this.#background.signal);
    this.#backgroundWork = this.#aggregator.runAsWorker(signal);
  }

  /** Reports whether other servers serve the objects of this storage. */
  async #hasOtherServers(): Promise<boolean> {
    const { hasWorkers, sharesStorage } = this.#config;
    if (hasWorkers?.() === true) return true;
    // A server without a port cannot tell.
    return sharesStorage === true && ((await this.#ownEndpoints?.hasOthers()) ?? true);
  }

  /** Reports whether an admission webhook is configured. */
  async #hasWebhooks(): Promise<boolean> {
    const group = 'admissionregistration.k8s.io';
    const lists = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].map(
      async (resource) => this.#objects.findAll(group, resource, ''),
    );
    return (await Promise.all(lists)).some((list) => list.length > 0);
  }

  /**
   * Opens the secure port. Rejects if the port is not available, or if the config has no `tls`.
   * `shared`: the socket of another process, which listens already.
   */
  async listen(shared?: NetServer): Promise<{ readonly port: number; readonly url: string }> {
    const { tls, logger, random } = this.#config;
    if (tls === undefined)
      throw new Error('an API server without a certificate cannot listen: its config has no `tls`');
    if (this.#listener !== undefined) throw new Error('the API server is already listening');
    const bindAddress = this.#config.bindAddress ?? '127.0.0.1';
    const listener = new Listener({
      handler: this.handler,
      clock: this.#config.clock,
      logger,
      limits: this.#config.connectionLimits,
      random,
      bindAddress,
      port: this.#config.port ?? DEFAULT_PORT,
      ...tls,
      requestHeaderCa: this.#config.requestHeader?.ca,
    });
    this.#aggregator.expectRequests();
    this.#port = await listener.start(shared);
    this.#listener = listener;
    const host = bindAddress === '0.0.0.0' || bindAddress === '::' ? '127.0.0.1' : bindAddress;
    return {
      port: this.#port,
      url: `https://${host.includes(':') ? `[${host}]` : host}:${this.#port}`,
    };
  }

  /** The listening socket, for workers. Undefined before `listen`. */
  get socket(): NetServer | undefined {
    return this.#listener?.socket;
  }

  /**
   * Makes clients open this share of their connections anew, after the requests in flight: GOAWAY,
   * or `Connection: close`. Workers get some of the new ones. `share`: from 0 to 1.
   */
  shedConnections(share: number): void {
    this.#listener?.shed(share);
  }

  /**
   * Uses another certificate for new connections. Throws if key and certificate do not match; the
   * current certificate then stays.
   */
  setServingCertificate(pair: { readonly cert: string; readonly key: string }): void {
    this.#listener?.setCertificate(pair);
  }

  /**
   * Returns a handler for clients in this process that act as `user`, for createInProcessTransport.
   * Only authentication is skipped. `component`: names the client for `intercept`, where the user
   * does not.
   */
  inProcess(user: UserInfo, component?: string): InProcessHandler {
    return async (incoming) => {
      const { method, path, query, headers, body, remoteAddress, warnings } = incoming;
      if (this.#stopped) throw STOPPING;
      const request = new RequestState({
        method,
        path,
        query,
        headers,
        body,
        remoteAddress,
        warnings,
        user,
        component,
        parentSignal: () => incoming.signal,
      });
      this.#inProcess.add(request);
      let response: ApiResponse;
      try {
        response = await this.handler(request);
      } finally {
        this.#inProcess.delete(request);
      }
      if (response.body.kind === 'taken')
        throw new Error('a request in this process cannot be upgraded');
      return { code: response.code, body: response.body };
    };
  }

  /**
   * Renews the Leases of nodes whose kubelets are in this process, which skips authentication.
   * Resolves with the nodes whose kubelets have to make the request themselves. Never rejects.
   */
  async renewLeases(batch: LeaseRenewalBatch): Promise<readonly string[]> {
    return this.#renewals?.renew(batch) ?? batch.nodes;
  }

  /**
   * Returns a connection to this server that speaks HTTP/1.1. All requests on it are made by
   * `user`: they are not authenticated. Without a user they are, by their headers, and come from
   * `remoteAddress`.
   */
  connect(user: UserInfo | undefined, remoteAddress?: string): Duplex {
    if (this.#stopped) throw STOPPING;
    this.#local ??= new LocalConnections({ handler: this.handler, logger: this.#config.logger });
    return this.#local.open(user, remoteAddress);
  }

  /** The audit log; undefined if there is none. */
  get audit(): Pick<AuditLog, 'process' | 'keepOpen'> | undefined {
    return this.#audit;
  }

  /**
   * Fails /readyz, and keeps serving for `shutdownDelayMs`. Then ends watches, waits for other
   * requests (up to `shutdownTimeoutMs`), and closes the port. Idempotent. The storage stays open.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { clock, sharesStorage, shutdownDelayMs = 0 } = this.#config;
    this.#listener?.drain();
    if (sharesStorage === true) await this.#leave();
    if (shutdownDelayMs > 0) await clock.sleep(shutdownDelayMs);
    const closed = this.#listener?.stop();
    this.#background.abort(STOPPING);
    this.#stopped = true;
    this.#definitions.stop();
    this.#flowFollower?.stop();
    this.#flowControl?.stop();
    this.#roles.stop();
    this.#nodeGraph.stop();
    this.#aggregator.stop();
    for (const callback of this.#onStop) callback();
    this.#webhooks.close();
    this.catalog.close();
    for (const request of [
      ...this.#inProcess,
      ...(this.#local?.requests ?? []),
      ...(this.#listener?.requests ?? []),
    ]) {
      if (request.info.verb === 'watch') request.abort(STOPPING);
    }
    const timer = this.#config.clock.setTimer(this.#config.shutdownTimeoutMs ?? 5_000, () =>
      this.#listener?.abort(STOPPING),
    );
    await Promise.all([closed, this.#backgroundWork, this.#startWrites?.stop()]);
    timer.cancel();
    this.#deadlines.stop();
    await this.#audit?.stop();
    for (const request of this.#inProcess) request.abort(STOPPING);
    this.#local?.close(STOPPING);
  }

  /**
   * Removes the server from the published endpoints while it still serves. Waits only a moment for
   * a store that does not respond.
   */
  async #leave(): Promise<void> {
    if (this.#ownEndpoints === undefined) return;
    const { clock } = this.#config;
    const waited = new AbortController();
    const patience = clock.sleep(LEAVE_TIMEOUT_MS, waited.signal).catch(() => undefined);
    await Promise.race([this.#ownEndpoints.leave(), patience]);
    waited.abort();
  }

  /** Returns the server's external address, 'HOST:PORT'. */
  #externalAddress(): string {
    const { advertiseAddress, bindAddress = '127.0.0.1', port = DEFAULT_PORT } = this.#config;
    this.#advertised ??= advertiseAddress ?? advertisedAddress(bindAddress) ?? bindAddress;
    const host = this.#advertised;
    return `${host.includes(':') ? `[${host}]` : host}:${this.#port ?? port}`;
  }
}

/** Returns the first usable address of the first range: '10.96.0.1' for '10.96.0.0/12'. */
function firstAddress(cidrs: string): string {
  const [range] = serviceAddressRanges(cidrs);
  return range === undefined ? '' : formatIp({ family: range.family, value: range.firstUsable });
}
