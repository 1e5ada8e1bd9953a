// Keeps a store the same as a resource on the API server: lists, then watches from the list's revision on.

import type { KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { forEachEvent } from '#machinery/watch.ts';
import type { WatchStream } from '#machinery/watch.ts';
import * as wait from '#machinery/wait.ts';
import type { ListOptions, WatchOptions } from '../client.ts';
import type { WatchEvent } from '../transport.ts';

/** The source of a reflector. A ResourceClient is one. */
export interface ListerWatcher<T> {
  list(options: ListOptions): Promise<ListOf<T>>;
  watch(options: WatchOptions): Promise<WatchStream<WatchEvent<T>>>;
}

/** The destination of a reflector. Calls come one after the other, in the order of revisions. */
export interface ReflectorStore<T> {
  /** The object exists with this content now, whether or not it was known before. */
  put(object: T): void;
  /** The object is gone; `object` is its last state. */
  delete(object: T): void;
  /** Exactly these objects exist now. */
  replace(objects: readonly T[], resourceVersion: string): void;
}

export interface ReflectorConfig<T> {
  /** For the log: the resource and what is selected of it. */
  readonly name: string;
  readonly source: ListerWatcher<T>;
  readonly store: ReflectorStore<T>;
  /** Narrow what is listed and watched. */
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** A watch is ended by the server after this time to twice this time, so that watches spread over servers. Default: 5 minutes. */
  readonly minWatchTimeoutMs?: number;
  /** Objects per page where the server answers in pages. Default: 500. */
  readonly pageSize?: number;
}

const EXPIRED = Symbol('expired');
/** A watch that ends within this time without an event says that something is wrong at the other end. */
const SHORT_WATCH_MS = 1000;
/** After this time without failure the next one is a first one again. */
const BACKOFF_RESET_MS = 120_000;

export class Reflector<T extends KubeObject> {
  readonly #config: ReflectorConfig<T>;
  readonly #logger: Logger;
  /** Between failed attempts: 0.8 s, doubled up to 30 s, and once more as much at random. */
  readonly #backoff: wait.Backoff;
  /** When the last failure was, on the clock's monotonic scale. */
  #failedAt = Number.NEGATIVE_INFINITY;
  /** The revision up to which the store is current; '' before the first list. */
  #resourceVersion = '';
  /** The server no longer has #resourceVersion: the next list must read the latest state. */
  #expired = false;

  constructor(config: ReflectorConfig<T>) {
    this.#config = config;
    this.#logger = config.logger.with({ reflector: config.name });
    this.#backoff = new wait.Backoff({
      durationMs: 800,
      factor: 2,
      capMs: 30_000,
      jitter: 1,
      random: config.random,
    });
  }

  get lastSyncResourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Lists and watches until the signal aborts, however often that fails. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.listAndWatch(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn('informer: list and watch failed, retrying', { err: error });
        await this.#pause(signal);
      }
    }
  }

  /**
   * One list, then watches that continue each other, until the server no longer has the revision to go on from (returns: list
   * again), something fails that another watch would not mend (throws), or the signal aborts (returns).
   */
  async listAndWatch(signal: AbortSignal): Promise<void> {
    await this.#list(signal);
    while (!signal.aborted) {
      const startedAt = this.#config.clock.monotonic();
      let events: number | typeof EXPIRED;
      try {
        events = await this.#watchOnce(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!worthAnotherWatch(error)) throw error;
        this.#logger.debug('informer: watch failed, resuming from the last revision', {
          err: error,
        });
        await this.#pause(signal);
        continue;
      }
      if (events === EXPIRED) {
        this.#logger.debug('informer: revision compacted, listing again', {
          resourceVersion: this.#resourceVersion,
        });
        this.#expired = true;
        return;
      }
      if (events === 0 && this.#config.clock.monotonic() - startedAt < SHORT_WATCH_MS)
        await this.#pause(signal);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { list, resourceVersion } = await this.#listFrom(this.#listResourceVersion(), signal);
    this.#config.store.replace(list, resourceVersion);
    this.#resourceVersion = resourceVersion;
    this.#expired = false;
  }

  /** '0' is satisfied by any state that the server has at hand; later lists must not go back behind what was seen. */
  #listResourceVersion(): string {
    if (this.#expired) return '';
    return this.#resourceVersion === '' ? '0' : this.#resourceVersion;
  }

  async #listFrom(
    resourceVersion: string,
    signal: AbortSignal,
  ): Promise<{ readonly list: readonly T[]; readonly resourceVersion: string }> {
    try {
      return await this.#listPages(resourceVersion, signal);
    } catch (error) {
      // Compacted, or from the future of a server that was restored: the latest state is the one to have.
      if (
        resourceVersion === '' ||
        !(isExpired(error) || apierrors.isTooLargeResourceVersion(error))
      )
        throw error;
      return await this.#listPages('', signal);
    }
  }

  async #listPages(
    resourceVersion: string,
    signal: AbortSignal,
  ): Promise<{ readonly list: readonly T[]; readonly resourceVersion: string }> {
    const { source, labelSelector, fieldSelector, pageSize = 500 } = this.#config;
    const selectors = { labelSelector, fieldSelector, signal };
    // A list at revision '0' comes from the server's memory, which does not page.
    const limit = resourceVersion === '' ? pageSize : undefined;
    const first = await source.list({
      ...selectors,
      resourceVersion: resourceVersion || undefined,
      limit,
    });
    if (!first.metadata.continue)
      return { list: first.items, resourceVersion: first.metadata.resourceVersion };
    const items = [...first.items];
    let token: string | undefined = first.metadata.continue;
    while (token) {
      let page: ListOf<T>;
      try {
        page = await source.list({ ...selectors, limit, continue: token });
      } catch (error) {
        if (!isExpired(error)) throw error;
        // Paging took longer than history is kept: all at once then.
        page = await source.list(selectors);
        return { list: page.items, resourceVersion: page.metadata.resourceVersion };
      }
      for (const item of page.items) items.push(item);
      token = page.metadata.continue;
    }
    return { list: items, resourceVersion: first.metadata.resourceVersion };
  }

  /** One watch to its end. Answers how many events came, bookmarks included. */
  async #watchOnce(signal: AbortSignal): Promise<number | typeof EXPIRED> {
    const {
      source,
      labelSelector,
      fieldSelector,
      random,
      minWatchTimeoutMs = 300_000,
    } = this.#config;
    let stream: WatchStream<WatchEvent<T>>;
    try {
      stream = await source.watch({
        labelSelector,
        fieldSelector,
        resourceVersion: this.#resourceVersion,
        allowWatchBookmarks: true,
        timeoutSeconds: Math.ceil((minWatchTimeoutMs * (1 + random.float())) / 1000),
        signal,
      });
    } catch (error) {
      if (isExpired(error)) return EXPIRED;
      throw error;
    }
    let events = 0;
    try {
      await forEachEvent(stream, (event) => {
        if (signal.aborted) {
          stream.stop();
          return;
        }
        events++;
        if (event.type !== 'ERROR') this.#apply(event);
        // The object of an error is a Status, whatever the type of the watch's other objects.
        else throw apierrors.fromStatus(event.object as unknown as apierrors.Status);
      });
    } catch (error) {
      if (isExpired(error)) return EXPIRED;
      throw error;
    }
    return events;
  }

  #apply(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#config.store.put(event.object);
        break;
      case 'DELETED':
        this.#config.store.delete(event.object);
        break;
      default:
      // A bookmark only moves the revision.
    }
    this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    if (clock.monotonic() - this.#failedAt > BACKOFF_RESET_MS) this.#backoff.reset();
    this.#failedAt = clock.monotonic();
    try {
      await clock.sleep(this.#backoff.next(), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** 410 in both its forms: while opening, and as an event. */
function isExpired(err: unknown): boolean {
  return apierrors.isResourceExpired(err) || apierrors.isGone(err);
}

/** The server is away, busy or stumbled: what was seen up to now still holds, so no list is needed. */
function worthAnotherWatch(err: unknown): boolean {
  return (
    apierrors.isServiceUnavailable(err) ||
    apierrors.isTooManyRequests(err) ||
    apierrors.isInternalError(err)
  );
}
