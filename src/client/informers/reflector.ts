// Keeps a store in sync with a resource on the API server: lists, then watches from the list's
// revision on.

import type { KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { forEachEvent, type WatchStream } from '#machinery/watch.ts';
import * as wait from '#machinery/wait.ts';
import type { ListOptions, WatchOptions } from '../client.ts';
import type { WatchEvent } from '../transport.ts';

/** The source of a reflector. A ResourceClient is a ListerWatcher. */
export interface ListerWatcher<T> {
  list(options: ListOptions): Promise<ListOf<T>>;
  watch(options: WatchOptions): Promise<WatchStream<WatchEvent<T>>>;
}

/** The destination of a reflector. Calls come one after the other, in the order of revisions. */
export interface ReflectorStore<T> {
  /** Stores the current state of an object, new or changed. */
  put(object: T): void;
  /** Removes an object. `object`: its last state. */
  delete(object: T): void;
  /** Replaces all objects by these. The next call comes when it is done. */
  replace(objects: readonly T[], resourceVersion: string): Awaitable<void>;
}

/** Objects of a resource, as they were at a revision. */
interface Snapshot<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface ReflectorConfig<T> {
  /** The name in log lines: the resource and its selectors. */
  readonly name: string;
  readonly source: ListerWatcher<T>;
  readonly store: ReflectorStore<T>;
  /** Restrict the listed and watched objects. */
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * The server ends a watch after this time to twice this time, so that watches are distributed
   * over servers. Default: 5 minutes.
   */
  readonly minWatchTimeoutMs?: number;
  /** The number of objects per page of a list. Default: 500. */
  readonly pageSize?: number;
}

const EXPIRED = Symbol('expired');
/** A watch that ends within this time without an event indicates a problem on the server. */
const SHORT_WATCH_MS = 1000;
/** The time without failure after which the back-off restarts. */
const BACKOFF_RESET_MS = 120_000;

export class Reflector<T extends KubeObject> {
  readonly #config: ReflectorConfig<T>;
  readonly #logger: Logger;
  /**
   * The delay between failed attempts: 0.8 s, doubled up to 30 s, plus up to as much again at
   * random.
   */
  readonly #backoff: wait.Backoff;
  /** The time of the last failure, on the clock's monotonic scale. */
  #failedAt = Number.NEGATIVE_INFINITY;
  /** The revision of the store's content; '' before the first list. */
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

  /** Lists and watches until the signal aborts, and retries failures. Never throws. */
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
   * Lists once, then watches continuously. Returns when the server no longer has the revision to
   * continue from, or when the signal aborts. Throws errors that another watch would not resolve.
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
    const { items, resourceVersion } = await this.#listFrom(this.#listResourceVersion(), signal);
    await this.#config.store.replace(items, resourceVersion);
    this.#resourceVersion = resourceVersion;
    this.#expired = false;
  }

  /**
   * Returns the revision for the next list. '0' allows any state in the server's memory; later
   * lists must not be older than the store.
   */
  #listResourceVersion(): string {
    if (this.#expired) return '';
    return this.#resourceVersion === '' ? '0' : this.#resourceVersion;
  }

  async #listFrom(resourceVersion: string, signal: AbortSignal): Promise<Snapshot<T>> {
    try {
      return await this.#listPages(resourceVersion, signal);
    } catch (error) {
      // The revision was compacted, or is newer than a restored server: list the latest state.
      if (
        resourceVersion === '' ||
        !(isExpired(error) || apierrors.isTooLargeResourceVersion(error))
      )
        throw error;
      return await this.#listPages('', signal);
    }
  }

  async #listPages(resourceVersion: string, signal: AbortSignal): Promise<Snapshot<T>> {
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
      return { items: first.items, resourceVersion: first.metadata.resourceVersion };
    const items = [...first.items];
    let token: string | undefined = first.metadata.continue;
    while (token) {
      let page: ListOf<T>;
      try {
        page = await source.list({ ...selectors, limit, continue: token });
      } catch (error) {
        if (!isExpired(error)) throw error;
        // The history was compacted while paging: list everything at once.
        page = await source.list(selectors);
        return { items: page.items, resourceVersion: page.metadata.resourceVersion };
      }
      for (const item of page.items) items.push(item);
      token = page.metadata.continue;
    }
    return { items, resourceVersion: first.metadata.resourceVersion };
  }

  /** Runs one watch to its end. Returns the number of events, bookmarks included. */
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
        else throw apierrors.watchError(event.object);
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
      // A bookmark only updates the revision.
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

/** Reports whether the error is a 410, in both forms: as a response, and as an event. */
function isExpired(err: unknown): boolean {
  return apierrors.isResourceExpired(err) || apierrors.isGone(err);
}

/**
 * Reports whether the server is unreachable, busy or has failed temporarily: the store is still
 * valid, so no list is needed.
 */
function worthAnotherWatch(err: unknown): boolean {
  return (
    apierrors.isServiceUnavailable(err) ||
    apierrors.isTooManyRequests(err) ||
    apierrors.isInternalError(err)
  );
}
