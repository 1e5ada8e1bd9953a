// The aggregator of an API server: it forwards requests for the groups of other API servers, and
// merges their discovery and OpenAPI documents.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { apiServices as apiServiceType } from '#api/groups/apiregistration/v1/index.ts';
import type { RequestHeaderConfig } from '../authentication/request-header.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { Follower } from '../catalog/follow.ts';
import type { UpdateStatus } from '../catalog/internal-client.ts';
import type { ApiRequest, Handler, PeerAuthorities } from '../request.ts';
import { ApiServices, LEGACY_NAME, type RemoteApiService } from './api-services.ts';
import { AuthenticationConfig } from './authentication-config.ts';
import { AvailabilityController } from './availability/controller.ts';
import { AvailabilityMetrics } from './availability/metrics.ts';
import { CertificateMetrics } from '../webhooks/client/index.ts';
import { Backends, type ClientCertificate } from './proxy/backend.ts';
import type { DialBackend } from './proxy/backend-request.ts';
import { GroupsView } from './discovery/groups-view.ts';
import { RemoteDiscovery } from './discovery/remote-discovery.ts';
import type { AggregatedGroups } from '../discovery/aggregated-groups.ts';
import { AggregationProxy } from './proxy/proxy.ts';
import { RemoteOpenApi } from './openapi/remote-openapi.ts';
import { LocalApiServices } from './registration/local-api-services.ts';
import { ServiceStates } from './service-states.ts';

/** Upstream's message. */
const PATHS_INCOMPLETE =
  'the request has been made before all known HTTP paths have been installed, please retry';

export interface AggregationConfig {
  /**
   * Returns the certificate by which other API servers authenticate this one. Absent: none is
   * presented.
   */
  readonly proxyClientCertificate?: () => ClientCertificate | undefined;
  /** A redirect of another API server becomes a response 502. Default: true. */
  readonly rejectRedirects?: boolean;
  /** Connects to other API servers. Default: TCP and TLS. */
  readonly dial?: DialBackend;
}

export interface AggregatorConfig {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly client: Client;
  readonly updateStatus: UpdateStatus;
  readonly aggregation?: AggregationConfig;
  /** The front proxies that this server trusts. Published for extension API servers. */
  readonly requestHeader?: RequestHeaderConfig;
  /** The authority of client certificates, in PEM. Published for extension API servers. */
  readonly clientCa?: string;
}

export class Aggregator {
  readonly apiServices = new ApiServices();
  readonly #metrics = new AvailabilityMetrics();
  readonly #certificateMetrics = new CertificateMetrics('apiserver_kube_aggregator');
  /** The OpenAPI documents of other API servers. */
  readonly openApi: RemoteOpenApi;
  readonly #stopped = new AbortController();
  readonly #follower: Follower;
  readonly #services: ServiceStates;
  readonly #backends: Backends;
  readonly #authentication: AuthenticationConfig;
  readonly #local: LocalApiServices;
  readonly #availability: AvailabilityController;
  readonly #proxy: AggregationProxy;
  readonly #discovery: RemoteDiscovery;
  readonly #groups: GroupsView;
  readonly #logger: Logger;
  readonly #catalog: Catalog;
  #started: Promise<void> | undefined;
  /** All APIServices are loaded. */
  #synced = false;
  /** Requests are served, but not all APIServices are loaded. */
  #incomplete = false;

  constructor(config: AggregatorConfig) {
    const { catalog, clock, logger, random, aggregation = {} } = config;
    this.#logger = logger;
    this.#catalog = catalog;
    const following = { catalog, clock, logger };
    this.#follower = new Follower(following);
    this.#services = new ServiceStates({
      ...following,
      onChange: (namespace, name) => this.#availability.serviceChanged(namespace, name),
    });
    const backends = new Backends({
      clock,
      random: random.derive('aggregator'),
      services: this.#services,
      certificate: aggregation.proxyClientCertificate ?? (() => undefined),
      dial: aggregation.dial,
      certificateMetrics: this.#certificateMetrics,
    });
    const { requestHeader } = config;
    this.#proxy = new AggregationProxy({
      clock,
      logger,
      backends,
      rejectRedirects: aggregation.rejectRedirects,
      identityHeaders: lowerCase(requestHeader, ['usernameHeaders', 'uidHeaders', 'groupHeaders']),
      identityPrefixes: lowerCase(requestHeader, ['extraHeaderPrefixes']),
    });
    this.#authentication = new AuthenticationConfig({ ...config, requestHeader });
    const { apiServices } = this;
    this.#discovery = new RemoteDiscovery({
      clock,
      logger,
      apiServices,
      backends,
      onChange: () => this.#groups.invalidate(),
    });
    this.openApi = new RemoteOpenApi({
      clock,
      logger,
      apiServices,
      backends,
      forward: (request, service) => this.#proxy.forward(request, service),
      signal: this.#stopped.signal,
    });
    this.#groups = new GroupsView(apiServices, this.#discovery);
    this.#local = new LocalApiServices({
      catalog,
      client: config.client,
      apiServices,
      clock,
      logger,
    });
    this.#availability = new AvailabilityController({
      clock,
      logger,
      apiServices,
      services: this.#services,
      backends,
      updateStatus: config.updateStatus,
      metrics: this.#metrics,
    });
    apiServices.onChange((_name, now, before) => {
      if (now?.spec.service !== undefined || before?.spec.service !== undefined) {
        backends.retain(apiServices.allRemote());
        void this.#followServices();
      }
    });
    this.#backends = backends;
  }

  /** Publishes other authorities from now on. */
  setPeerAuthorities(authorities: PeerAuthorities): void {
    this.#authentication.setAuthorities(authorities);
  }

  /**
   * Loads the APIServices and the services that they name. Rejects if the store cannot be read.
   * Idempotent.
   */
  start(): Promise<void> {
    this.#started ??= (async () => {
      await this.#follower.follow(apiServiceType.group, apiServiceType.resource, this.apiServices);
      await this.#followServices();
      this.#synced = true;
      this.#incomplete = false;
    })();
    return this.#started;
  }

  /**
   * Reconciles the APIServices of this server's own group versions, and publishes how it
   * authenticates clients.
   */
  async registerLocal(): Promise<void> {
    await this.#local.syncAtStart();
    this.#groups.registered(this.#local.served);
    await this.#authentication.start(this.#follower);
  }

  /** Follows what the main server registers, and writes nothing. Instead of `registerLocal`. */
  expectRegistered(): void {
    this.#groups.registered(this.#local.served);
  }

  metricsText(): string {
    return this.#metrics.text() + this.#certificateMetrics.text();
  }

  /** The groups of other servers for discovery: the same value until they change. */
  get groups(): AggregatedGroups {
    return this.#groups.current;
  }

  /** Maintains APIServices and their conditions until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#availability.run(signal),
      this.#local.run(signal),
      this.#discovery.run(signal),
      this.#authentication.run(signal),
    ]);
  }

  /** Follows the discovery of other servers until the signal aborts. Instead of `run`. */
  async runAsWorker(signal: AbortSignal): Promise<void> {
    await this.#discovery.run(signal);
  }

  stop(): void {
    this.#stopped.abort(new Error('the API server is shutting down'));
    this.#follower.stop();
    this.#services.stop();
    this.#backends.close();
  }

  /**
   * Records that requests are served from now on. Until `start` has loaded the APIServices,
   * requests for unknown groups get 503: after a 404 a client might consider the objects of such a
   * group deleted.
   */
  expectRequests(): void {
    if (!this.#synced) this.#incomplete = true;
  }

  /**
   * Returns a handler that forwards requests for other API servers' groups, and passes all others
   * to `next`.
   */
  wrap(next: Handler): Handler {
    return (request) => {
      if (this.#incomplete && this.#isUnknown(request)) {
        return Promise.reject(apierrors.serviceUnavailable(PATHS_INCOMPLETE));
      }
      if (!this.apiServices.hasRemote) return next(request);
      const service = this.#serviceOf(request);
      return service === undefined ? next(request) : this.#proxy.forward(request, service);
    };
  }

  /** Reports whether requests for the resource are not forwarded to another server. */
  servesLocally({ group, version }: Pick<ResourceType, 'group' | 'version'>): boolean {
    return !this.apiServices.hasRemote || !this.apiServices.remote(`${version}.${group}`);
  }

  /** Reports whether the path belongs to a group version that this server does not serve. */
  #isUnknown({ path }: ApiRequest): boolean {
    const [, root, group = '', version = ''] = path.split('/', 4);
    if (root !== 'apis' || group === '') return false;
    const index = this.#catalog.snapshot().group(decodeSegment(group));
    return version === ''
      ? index === undefined
      : index?.version(decodeSegment(version)) === undefined;
  }

  #serviceOf({ path }: ApiRequest): RemoteApiService | undefined {
    const [empty, root, first = '', second = ''] = path.split('/', 4);
    if (empty !== '') return undefined;
    if (root === 'api') return this.apiServices.remote(LEGACY_NAME);
    if (root !== 'apis' || first === '' || second === '') return undefined;
    return this.apiServices.remote(`${decodeSegment(second)}.${decodeSegment(first)}`);
  }

  async #followServices(): Promise<void> {
    const references = Array.from(this.apiServices.allRemote(), ({ spec: { service } }) => ({
      namespace: service.namespace ?? '',
      name: service.name ?? '',
    }));
    await this.#services.follow(references);
    this.#logger.debug('aggregator: following services of APIServices', {
      services: references.length,
    });
  }
}

/**
 * Decodes a path segment. Returns one that cannot be decoded unchanged, since it names no group or
 * version.
 */
function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) return segment;
    throw error;
  }
}

function lowerCase(
  config: RequestHeaderConfig | undefined,
  keys: readonly ('usernameHeaders' | 'uidHeaders' | 'groupHeaders' | 'extraHeaderPrefixes')[],
): readonly string[] {
  return config === undefined
    ? []
    : keys.flatMap((key) => config[key].map((name) => name.toLowerCase()));
}
