// The API server: everything in this folder, put together. `listen` opens its port; without that, only the in-process entry
// works, and nothing is opened at all.

import { newDefaultScheme } from '#api/default-scheme.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { InProcessHandler } from '#client/in-process.ts';
import { poolIsAlive } from '#machinery/files/thread-pool.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { formatIp } from '#machinery/net/ip.ts';
import { AdmissionChain } from './admission/chain.ts';
import { defaultAdmissionPlugins } from './admission/defaults.ts';
import { PodSecurityMetrics } from './admission/pod-security/metrics.ts';
import { AdmissionMetrics } from './admission/metrics.ts';
import { CelMetrics } from './admission/policy/cel-metrics.ts';
import { PolicyMetrics } from './admission/policy/metrics.ts';
import { ClientCertificateAuthenticator } from './authentication/client-certificate.ts';
import { LegacyServiceAccountTokens } from './authentication/legacy-service-account-tokens.ts';
import { keepTokenTracking, noteTokenUse } from './authentication/legacy-token-tracking.ts';
import { DEFAULT_ISSUER, ServiceAccountTokens } from './authentication/service-account-tokens.ts';
import { StaticTokenAuthenticator } from './authentication/static-tokens.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { alwaysAllow, alwaysDeny, type AuthorizationMode } from './authorization/modes.ts';
import { NodeGraphFollower } from './authorization/node/graph-follower.ts';
import { NodeAuthorizer } from './authorization/node/node-authorizer.ts';
import { keepBootstrapPolicy } from './authorization/policy/reconcile.ts';
import { privilegedAuthorizer } from './authorization/privileged.ts';
import { RbacAuthorizer } from './authorization/rbac/rbac-authorizer.ts';
import { RoleCache } from './authorization/rbac/role-cache.ts';
import { UnionAuthorizer } from './authorization/union.ts';
import { createBootstrapObjects, keepKubernetesService } from './bootstrap.ts';
import type { ApiServerConfig } from './config.ts';
import { createDiscovery } from './discovery/index.ts';
import { Router } from './endpoints/router.ts';
import { Deadlines } from './filters/deadline.ts';
import { LinkedList } from '#machinery/collections/linked-list.ts';
import { RequestMetrics } from './filters/request-metrics.ts';
import { buildHandlerChain } from './handler-chain.ts';
import { logCheck, pingCheck, StartHooks } from '#machinery/serving/health.ts';
import type { HealthCheck } from '#machinery/serving/health.ts';
import { HealthSlis } from '#machinery/serving/health-slis.ts';
import { Listener } from './http/listener.ts';
import { createOpenApi } from './openapi/index.ts';
import { metricsRoute, slisRoute } from './metrics.ts';
import { isDiscoverable, JWKS_PATH, OPENID_CONFIGURATION_PATH, openIdRoutes } from './openid-routes.ts';
import { advertisedAddress, OwnEndpoints } from './own-endpoints.ts';
import { customResourceDefinitionResource } from './kinds/apiextensions/custom-resource-definition.ts';
import { buildRegistry } from './kinds/index.ts';
import { appearsIn, findAllIn, findIn, updateStatusIn } from './catalog/find.ts';
import type { Find, FindAll } from './catalog/find.ts';
import { StorageMetrics } from './registry/storage-metrics.ts';
import { serviceAddressRanges } from './kinds/core/service/address-range.ts';
import { makeServiceAllocators } from './kinds/core/service/allocators.ts';
import type { ServiceAllocators } from './kinds/core/service/allocators.ts';
import type { Kind } from './catalog/kind.ts';
import type { RegistryServices } from './kinds/services.ts';
import type { ApiResponse, Handler, UserInfo } from './request.ts';
import { RequestState } from './request-state.ts';
import { flagzRoute, healthRoute, statuszRoute } from './status-routes.ts';
import { servedUnder } from './runtime-config.ts';
import { ServiceRepair } from './service-repair/index.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { DEFAULT_VERSION, versionRoute } from './version.ts';

/** The server itself, when it is its own client. */
export const LOOPBACK_USER: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] };

/** How the server is called in metrics and at /statusz. */
const COMPONENT = 'apiserver';

/**
 * The steps of each start, under the names and in the order of upstream's checks. Hooks of servers that do not exist here
 * (custom resources, aggregation, priority and fairness) are not among them.
 */
const START_HOOKS = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'start-system-namespaces-controller',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'kube-apiserver-autoregistration',
] as const;

const DEFAULT_PORT = 6443;
const DEFAULT_SERVICE_CIDR = '10.96.0.0/12';
const DEFAULT_NODE_PORTS = '30000-32767';
const LEAVE_TIMEOUT_MS = 2000;
const STOPPING = apierrors.serviceUnavailable('the API server is shutting down');

export class ApiServer {
  /** What is served, for those who describe it. */
  readonly resources: readonly Kind[];
  readonly #config: ApiServerConfig;
  /** The whole chain: what every entry hands its requests to. */
  readonly handler: Handler;
  readonly #deadlines: Deadlines;
  /** What the authorizer knows, if it is the server's own. */
  readonly #roles: RoleCache;
  readonly #nodeGraph: NodeGraphFollower;
  /** The server as its own client. */
  readonly #loopback: Client;
  readonly #serviceAllocators: ServiceAllocators;
  readonly #findAll: FindAll;
  /** What works by itself, until it is aborted. */
  readonly #background = new AbortController();
  #backgroundWork: Promise<unknown> = Promise.resolve();
  #ownEndpoints: OwnEndpoints | undefined;
  #stopped = false;
  readonly #onStop: (() => void)[] = [];
  #listener: Listener | undefined;
  #port: number | undefined;
  #advertised: string | undefined;
  /** In-process requests under way. */
  readonly #inProcess = new LinkedList<RequestState>();
  readonly #hooks = new StartHooks(START_HOOKS);
  #stopping: Promise<void> | undefined;

  /** Throws RuntimeConfigError, UnknownAdmissionPluginError, and TypeError for keys of accounts. */
  constructor(config: ApiServerConfig) {
    this.#config = config;
    const { clock, logger, random, storage } = config;
    // Who may do what is known whether or not others are told of it.
    let all: readonly Kind[] = [];
    this.#roles = new RoleCache({ clock, logger, served: () => all });
    this.#nodeGraph = new NodeGraphFollower({ clock, logger, served: () => all });
    const authorizer =
      config.authorizer ??
      new UnionAuthorizer([
        privilegedAuthorizer,
        ...(config.authorizationModes ?? ['Node', 'RBAC']).map((mode) => this.#authorizerOf(mode)),
      ]);
    // What is being built is looked things up in only once it serves.
    let lookUp: Find | undefined;
    const find: Find = (...which) => (lookUp as Find)(...which);
    let lookUpAll: FindAll | undefined;
    this.#findAll = (...which) => (lookUpAll as FindAll)(...which);
    this.#loopback = createClient(
      createInProcessTransport({ handler: this.inProcess(LOOPBACK_USER), userAgent: 'kube-apiserver' }),
    );
    this.#serviceAllocators = makeServiceAllocators({
      client: this.#loopback,
      storage,
      random,
      logger,
      findAll: this.#findAll,
      serviceCidr: config.serviceCidr ?? DEFAULT_SERVICE_CIDR,
      nodePorts: config.serviceNodePortRange ?? DEFAULT_NODE_PORTS,
    });
    const { serviceAccounts } = config;
    const serviceAccountTokens =
      serviceAccounts === undefined ? undefined : new ServiceAccountTokens({ clock, random, find, ...serviceAccounts });
    const staticTokens = new StaticTokenAuthenticator(
      config.tokens ?? new Map(),
      serviceAccountTokens?.audiences ?? [DEFAULT_ISSUER],
    );
    const legacyTokens =
      serviceAccounts === undefined || serviceAccountTokens === undefined
        ? undefined
        : new LegacyServiceAccountTokens({
            clock,
            find,
            verifier: serviceAccountTokens.verifier,
            audiences: serviceAccountTokens.audiences,
            noteUse: (secret, day) => noteTokenUse(this.#loopback, logger, secret, day),
          });
    const accountAuthenticators = [serviceAccountTokens, legacyTokens].flatMap((authenticator) => authenticator ?? []);
    const storageMetrics = new StorageMetrics({ storage, logger });
    const registryServices: RegistryServices = {
      storage,
      storageMetrics,
      clock,
      random,
      logger,
      authorizer,
      serviceAllocators: this.#serviceAllocators,
      nodeConnector: config.nodeConnector,
      componentHealth: config.componentHealth,
      find,
      serviceAccountTokens,
      tokenAuthenticators: [staticTokens, ...accountAuthenticators],
      eventTtlMs: config.eventTtlMs,
      detectMutations: config.detectMutations,
      onStop: (callback) => this.#onStop.push(callback),
    };
    all = buildRegistry(registryServices);
    this.resources = servedUnder(all, config.runtimeConfig ?? {});
    lookUp = findIn(all);
    lookUpAll = findAllIn(all);
    const mountTokens = serviceAccounts?.mountTokens ?? false;
    const scheme = config.scheme ?? newDefaultScheme();
    const celMetrics = new CelMetrics({ clock });
    const admissionMetrics = new AdmissionMetrics();
    const policyMetrics = { validating: new PolicyMetrics('validating'), mutating: new PolicyMetrics('mutating') };
    const version = config.version ?? DEFAULT_VERSION;
    const podSecurityMetrics = new PodSecurityMetrics({ version });
    const plugins = defaultAdmissionPlugins(
      {
        find,
        served: () => all,
        scheme,
        logger,
        policyMetrics,
        celMetrics,
        podSecurity: config.podSecurity,
        podSecurityMetrics,
        onStop: (callback) => this.#onStop.push(callback),
        findAll: this.#findAll,
        appears: appearsIn(all, clock),
        updateStatus: updateStatusIn(all),
        clock,
        random,
        authorizer,
        mountTokens,
        defaultTolerationSeconds: config.defaultTolerationSeconds,
      },
      config.disableAdmissionPlugins ?? [],
    );
    const services = {
      scheme,
      admission: new AdmissionChain([...plugins, ...(config.admissionPlugins ?? [])], { clock, metrics: admissionMetrics }),
      clock,
      random,
      minWatchTimeoutMs: config.minWatchTimeoutMs ?? 30 * 60_000,
    };
    const metrics = new RequestMetrics({ clock });
    const healthPaths = ['/healthz', '/livez', '/readyz'];
    const slis = new HealthSlis();
    const openIdConfig =
      serviceAccountTokens === undefined || !isDiscoverable(serviceAccountTokens.issuer)
        ? undefined
        : {
            issuer: serviceAccountTokens.issuer,
            keys: serviceAccountTokens.verifier.keys,
            externalAddress: () => this.#externalAddress(),
            jwksUri: serviceAccounts?.jwksUri,
          };
    const otherPaths = [
      ...healthPaths.flatMap((path) => [path, ...this.#checks(path).map(({ name }) => `${path}/${name}`)]),
      '/metrics',
      '/metrics/slis',
      '/openapi/v2',
      '/openapi/v3',
      '/openapi/v3/',
      '/statusz',
      '/version',
      ...(config.flags === undefined ? [] : ['/flagz']),
      ...(openIdConfig === undefined ? [] : [OPENID_CONFIGURATION_PATH, JWKS_PATH]),
    ];
    const routes = [
      ...healthPaths.map((path) => healthRoute({ path, checks: () => this.#checks(path), logger, slis, metrics })),
      slisRoute(slis),
      ...(openIdConfig === undefined ? [] : openIdRoutes(openIdConfig)),
      statuszRoute(
        { component: COMPONENT, clock, startedAt: clock.now(), version: versionInfo(version), paths: () => otherPaths },
        metrics,
      ),
      ...(config.flags === undefined ? [] : [flagzRoute(COMPONENT, config.flags, metrics)]),
      versionRoute(version),
      createDiscovery({ resources: this.resources, otherPaths, externalAddress: () => this.#externalAddress() }),
      createOpenApi({ resources: this.resources, scheme, version }),
      metricsRoute({
        build: versionInfo(version),
        parts: [
          () => metrics.text(),
          () => storageMetrics.text(),
          () => admissionMetrics.text(),
          () => celMetrics.text(),
          () => policyMetrics.mutating.text() + policyMetrics.validating.text() + podSecurityMetrics.text(),
          () => config.otherMetrics?.() ?? '',
        ],
      }),
    ];
    const router = new Router(services, [...this.resources, customResourceDefinitionResource({ storage })], routes, metrics);
    this.#deadlines = new Deadlines({ clock, timeoutMs: config.requestTimeoutMs ?? 60_000 });
    this.handler = buildHandlerChain(
      {
        clock,
        logger,
        metrics,
        deadlines: this.#deadlines,
        authenticators: [
          new ClientCertificateAuthenticator(),
          staticTokens,
          ...accountAuthenticators,
          ...(config.authenticators ?? []),
        ],
        anonymous: config.anonymous,
        authorizer,
        maxInFlight: config.maxInFlight,
      },
      router.handle,
    );
  }

  #authorizerOf(mode: AuthorizationMode): Authorizer {
    switch (mode) {
      case 'Node':
        return new NodeAuthorizer(this.#nodeGraph.graph);
      case 'RBAC':
        return new RbacAuthorizer(this.#roles);
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
    }
  }

  /** Creates what every cluster begins with. To be called once, before others are let in; safe on a store that has it all. */
  async start(): Promise<void> {
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
      listServices: () => this.#findAll('', 'services', ''),
      keepKubernetesService: () => keepKubernetesService({ client, serviceIp, port, clock }),
    });
    const hooks = this.#hooks;
    // The storage was opened, and its caches filled, before there was a server.
    hooks.finish('start-apiserver-admission-initializer', 'storage-readiness');
    await repair.begin();
    hooks.finish('start-service-ip-repair-controllers', 'start-kubernetes-service-cidr-controller');
    await createBootstrapObjects({ client, resources: this.resources, serviceIp, port, clock });
    hooks.finish('start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes');
    hooks.finish('priority-and-fairness-config-producer', 'kube-apiserver-autoregistration');
    // Everybody else may do what roles say from here on: those that are always there are seen at once.
    await keepBootstrapPolicy(client, this.resources);
    hooks.finish('rbac/bootstrap-roles');
    if (this.#config.serviceAccounts !== undefined) await keepTokenTracking(client, this.#config.clock);
    hooks.finish('start-legacy-token-tracking-controller');
    if (this.#config.authorizer === undefined) await Promise.all([this.#roles.start(), this.#nodeGraph.start()]);
    hooks.finish('generic-apiserver-start-informers');
    const address = this.#config.advertiseAddress ?? advertisedAddress(this.#config.bindAddress ?? '127.0.0.1');
    // A server that nobody can reach has no endpoints.
    if (this.#port !== undefined && address !== undefined) {
      const { storage, sharesStorage: shared = false } = this.#config;
      this.#ownEndpoints = new OwnEndpoints({ client, storage, clock, logger, address, port, shared });
      await this.#ownEndpoints.join();
    }
    hooks.finish('bootstrap-controller');
    const signal = sharedByMany(this.#background.signal);
    const repairing = repair.run(signal).catch((err: unknown) => {
      logger.error('addresses of services are not watched over any more', { err });
    });
    this.#backgroundWork = Promise.all([repairing, this.#ownEndpoints?.run(signal)]);
  }

  /** Opens the secure port. Rejects if it cannot be had, or if there is no `tls` in the config. */
  async listen(): Promise<{ readonly port: number; readonly url: string }> {
    const { tls, logger, random } = this.#config;
    if (tls === undefined) throw new Error('an API server without a certificate cannot listen: its config has no `tls`');
    if (this.#listener !== undefined) throw new Error('the API server listens already');
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
    });
    this.#port = await listener.start();
    this.#listener = listener;
    const host = bindAddress === '0.0.0.0' || bindAddress === '::' ? '127.0.0.1' : bindAddress;
    return { port: this.#port, url: `https://${host.includes(':') ? `[${host}]` : host}:${this.#port}` };
  }

  /** Uses another certificate for new connections. Throws if the key is not its key; the certificate in use then stays. */
  setServingCertificate(pair: { readonly cert: string; readonly key: string }): void {
    this.#listener?.setCertificate(pair);
  }

  /** The entry of clients in this process, as `user`: for createInProcessTransport. Everything but authentication applies. */
  inProcess(user: UserInfo): InProcessHandler {
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
        parentSignal: () => incoming.signal,
      });
      this.#inProcess.add(request);
      let response: ApiResponse;
      try {
        response = await this.handler(request);
      } finally {
        this.#inProcess.delete(request);
      }
      if (response.body.kind === 'taken') throw new Error('an upgraded connection cannot be answered in-process');
      return { code: response.code, body: response.body };
    };
  }

  /** Ends watches, lets other requests finish for a while, closes the port. Idempotent. The storage stays open. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    if (this.#config.sharesStorage === true) await this.#leave();
    const closed = this.#listener?.stop();
    this.#background.abort(STOPPING);
    this.#stopped = true;
    this.#roles.stop();
    this.#nodeGraph.stop();
    for (const callback of this.#onStop) callback();
    for (const request of [...this.#inProcess, ...(this.#listener?.requests ?? [])]) {
      if (request.info.verb === 'watch') request.abort(STOPPING);
    }
    const timer = this.#config.clock.setTimer(this.#config.shutdownTimeoutMs ?? 5_000, () => this.#listener?.abort(STOPPING));
    await Promise.all([closed, this.#backgroundWork]);
    timer.cancel();
    this.#deadlines.stop();
    for (const request of this.#inProcess) request.abort(STOPPING);
  }

  /** Others are told that it goes, while it still serves. A store that does not answer holds it up for a moment only. */
  async #leave(): Promise<void> {
    if (this.#ownEndpoints === undefined) return;
    const { clock } = this.#config;
    const waited = new AbortController();
    const patience = clock.sleep(LEAVE_TIMEOUT_MS, waited.signal).catch(() => undefined);
    await Promise.race([this.#ownEndpoints.leave(), patience]);
    waited.abort();
  }

  /** Where others reach the server: 'HOST:PORT'. */
  #externalAddress(): string {
    const { advertiseAddress, bindAddress = '127.0.0.1', port = DEFAULT_PORT } = this.#config;
    this.#advertised ??= advertiseAddress ?? advertisedAddress(bindAddress) ?? bindAddress;
    const host = this.#advertised;
    return `${host.includes(':') ? `[${host}]` : host}:${this.#port ?? port}`;
  }

  #checks(path: string): readonly HealthCheck[] {
    const storage = (): Promise<void> => this.#config.storage.health();
    const etcd: HealthCheck = { name: 'etcd', check: storage };
    const common = [path === '/readyz' ? poolCheck : pingCheck, logCheck, etcd];
    const hooks = this.#hooks.checks;
    const autoregistration: HealthCheck = {
      name: 'autoregister-completion',
      check: () => hooks.find(({ name }) => name === 'poststarthook/kube-apiserver-autoregistration')?.check(),
    };
    if (path !== '/readyz') return [...common, ...hooks, autoregistration];
    const readiness: HealthCheck = { name: 'etcd-readiness', check: storage };
    const informers: HealthCheck = {
      name: 'informer-sync',
      check: () => hooks.find(({ name }) => name === 'poststarthook/generic-apiserver-start-informers')?.check(),
    };
    const shutdown: HealthCheck = {
      name: 'shutdown',
      check: () => {
        if (this.#stopped) throw new Error('process is shutting down');
      },
    };
    return [...common, readiness, informers, ...hooks, autoregistration, shutdown];
  }
}

/** A full queue of libuv's pool passes in less time than this. */
const POOL_TIMEOUT_MS = 5000;

/**
 * 'ping' for readiness: whether anything completes that needs libuv's thread pool. Without the pool no token is verified and no
 * response compressed, although the event loop answers.
 */
const poolCheck: HealthCheck = {
  name: pingCheck.name,
  check: async () => {
    if (!(await poolIsAlive(POOL_TIMEOUT_MS)))
      throw new Error(`libuv's thread pool is stuck for more than ${POOL_TIMEOUT_MS} ms`);
  },
};

/** The first address behind the network's own: '10.96.0.1' of '10.96.0.0/12'. */
function firstAddress(cidrs: string): string {
  const [range] = serviceAddressRanges(cidrs);
  return range === undefined ? '' : formatIp({ family: range.family, value: range.firstUsable });
}
