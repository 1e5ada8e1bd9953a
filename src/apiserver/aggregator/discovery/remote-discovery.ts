// The discovery documents of other API servers, read every minute and after each change of an
// APIService. Only the group version that its APIService names is used from a server's document.
// While a server does not respond, its last document stays in use, marked as stale.

import type { APIVersionDiscovery } from '#api/groups/apidiscovery/v2/index.ts';
import {
  ExponentialRateLimiter,
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeueAfter,
  runWorkers,
} from '#client/workqueue/index.ts';
import type { Logger } from '#machinery/log.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { UserInfo } from '../../request.ts';
import {
  type ApiServices,
  groupVersionOf,
  isRemote,
  type RemoteApiService,
} from '../api-services.ts';
import { BackendError } from '../proxy/backend.ts';
import { fetchDocument, type FetchedDocument, type FetchServices } from '../proxy/fetch.ts';
import { isAggregatedType, readAggregated, readLegacy } from './read-document.ts';

const WORKERS = 2;
const REFRESH_MS = 60_000;
const FIRST_RETRY_MS = 500;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 4 * 1024 * 1024;
const AGGREGATED = ['v2', 'v2beta1'].map(
  (version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
);
const AGGREGATOR: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };
/** The user for requests of the older form: upstream's user, without a group. */
const AGGREGATOR_ALONE: UserInfo = { name: 'system:kube-aggregator', groups: [] };

export interface RemoteDiscoveryConfig extends FetchServices {
  readonly logger: Logger;
  readonly apiServices: ApiServices;
  /** Called when an entry has changed. */
  readonly onChange: () => void;
}

/** The document of one service, which may serve several group versions. */
interface CachedDocument {
  readonly versions: ReadonlyMap<string, APIVersionDiscovery>;
  readonly etag: string;
  /** A time not after the request for the document. */
  readonly askedAt: number;
}

export class RemoteDiscovery {
  readonly #config: RemoteDiscoveryConfig;
  readonly #queue: RateLimitingQueue;
  /** Entries by the name of the APIService. */
  readonly #entries = new Map<string, APIVersionDiscovery>();
  /** Documents by service and port. */
  readonly #documents = new Map<string, CachedDocument>();
  /** When each APIService was last changed, or became due for another request. */
  readonly #dirtyAt = new Map<string, number>();

  constructor(config: RemoteDiscoveryConfig) {
    this.#config = config;
    const rateLimiter = new ExponentialRateLimiter<string>({
      baseMs: FIRST_RETRY_MS,
      maxMs: REFRESH_MS,
    });
    this.#queue = new RateLimitingQueue({ clock: config.clock, rateLimiter });
    config.apiServices.onChange((name, now, before) => {
      if ((now === undefined || !isRemote(now)) && (before === undefined || !isRemote(before)))
        return;
      this.#dirtyAt.set(name, config.clock.monotonic());
      this.#queue.add(name);
    });
  }

  /** Returns the entry of an APIService. Undefined: it has not been read yet. */
  entry(name: string): APIVersionDiscovery | undefined {
    return this.#entries.get(name);
  }

  /** Reads documents until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return runWorkers(this.#queue, WORKERS, (name, aborted) => this.#sync(name, aborted), signal, {
      logger: this.#config.logger.with({ controller: 'discovery-aggregation' }),
    });
  }

  async #sync(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const service = this.#config.apiServices.remote(name);
    if (service === undefined) {
      this.#dirtyAt.delete(name);
      this.#forgetUnused();
      if (this.#entries.delete(name)) this.#config.onChange();
      return reconciled;
    }
    let failure: unknown;
    let versions: ReadonlyMap<string, APIVersionDiscovery> | undefined;
    try {
      versions = await this.#read(name, service, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      failure = error;
      versions = this.#documents.get(keyOf(service))?.versions;
    }
    const { group, version } = groupVersionOf(name);
    const freshness = failure === undefined ? 'Current' : 'Stale';
    // The APIService may have been replaced or deleted in the meantime.
    if (this.#config.apiServices.remote(name) === undefined) return requeueAfter(0);
    this.#set(name, { ...(versions?.get(`${group}/${version}`) ?? { version }), freshness });
    if (failure === undefined) {
      this.#dirtyAt.set(name, this.#config.clock.monotonic() + REFRESH_MS);
      return requeueAfter(REFRESH_MS);
    }
    this.#config.logger.debug('aggregator: reading discovery failed, retrying', {
      apiService: name,
      err: failure,
    });
    return { next: 'requeue' };
  }

  #set(name: string, entry: APIVersionDiscovery): void {
    const before = this.#entries.get(name);
    if (before !== undefined && semanticEqual(before, entry)) return;
    this.#entries.set(name, entry);
    this.#config.onChange();
  }

  async #read(
    name: string,
    service: RemoteApiService,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, APIVersionDiscovery>> {
    const key = keyOf(service);
    const cached = this.#documents.get(key);
    if (cached !== undefined && cached.askedAt > (this.#dirtyAt.get(name) ?? 0))
      return cached.versions;
    const askedAt = this.#config.clock.monotonic();
    const etag = cached?.etag ?? '';
    const fetched = await this.#fetch(
      service,
      '/apis',
      AGGREGATED.join(','),
      AGGREGATOR,
      etag,
      signal,
    );
    if (fetched.code === 304 && cached !== undefined) {
      this.#documents.set(key, { ...cached, askedAt });
      return cached.versions;
    }
    if (fetched.code === 503)
      throw new BackendError(`service ${key} returned non-success response code: 503`);
    if (fetched.code === 200 && isAggregatedType(fetched.contentType)) {
      const versions = readAggregated(fetched.body);
      this.#documents.set(key, { versions, etag: fetched.etag, askedAt });
      return versions;
    }
    return this.#readLegacy(name, service, signal);
  }

  /**
   * Reads the older form. It describes one group version, so it is not cached for other ones of the
   * same service.
   */
  async #readLegacy(
    name: string,
    service: RemoteApiService,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, APIVersionDiscovery>> {
    const { group, version } = groupVersionOf(name);
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const { code, body } = await this.#fetch(
      service,
      path,
      'application/json',
      AGGREGATOR_ALONE,
      '',
      signal,
    );
    if (code !== 200)
      throw new BackendError(
        `failed to download legacy discovery for ${path}: status code ${code}`,
      );
    return new Map([[`${group}/${version}`, readLegacy(body, version)]]);
  }

  #fetch(
    service: RemoteApiService,
    path: string,
    accept: string,
    user: UserInfo,
    etag: string,
    signal: AbortSignal,
  ): Promise<FetchedDocument> {
    const request = {
      path,
      accept,
      user,
      etag,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      signal,
    };
    return fetchDocument(this.#config, service, request);
  }

  #forgetUnused(): void {
    const used = new Set(Array.from(this.#config.apiServices.allRemote(), keyOf));
    for (const key of this.#documents.keys()) if (!used.has(key)) this.#documents.delete(key);
  }
}

function keyOf({ spec: { service } }: RemoteApiService): string {
  return `${service.namespace ?? ''}/${service.name ?? ''}:${service.port ?? 443}`;
}
