// The changes of one resource for all of its watchers. There is one watch on the storage, and each
// event is decoded and encoded once. An index selects the watchers that an event may concern. The
// source keeps the last events in memory for watchers that resume soon; a watcher of an older
// revision gets a storage watch of its own.
//
// States in another version than the served one are converted before anything is published. While a
// conversion runs, no further event is taken: the order is kept, and the storage holds events back
// as for any slow consumer. Events that wait together are converted in one call. If a conversion
// fails, the watchers of this source get an ERROR event and end; those of other kinds and versions
// are not affected.

import type { Awaitable } from '#machinery/awaitable.ts';
import { type Clock, setPoll, stir, type Timer } from '#machinery/clock.ts';
import type { Counter } from '#machinery/metrics/instruments.ts';
import type { Logger } from '#machinery/log.ts';
import { nextTurn } from '#machinery/turn.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import type { KeyValue, Storage, StorageEvent } from '#storage/interface.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { Change, type ChangeEvent, keyOf, statesOf } from './change.ts';
import { FreshObject, type ServedObject, SharedWatchEvent } from './encoded-object.ts';
import type { ObjectCache } from './object-cache.ts';
import { ConversionError } from './object-converter.ts';
import type { RenewedStates } from './renewed-states.ts';
import type { SelectableFields } from './selectable-fields.ts';
import type { Selection } from './selection.ts';
import { concerns, type Place, SubscriberIndex } from './subscriber-index.ts';
import { storageToStatus, watchErrorEvent } from './storage-errors.ts';

export interface EventSourceConfig {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The prefix of the resource's keys, which ends in '/'. */
  readonly prefix: string;
  readonly cache: ObjectCache;
  readonly namespaced: boolean;
  readonly apiVersion: string;
  readonly kind: string;
  readonly selectableFields: SelectableFields;
  /** Which states were renewed together. Default: none. */
  readonly renewed?: RenewedStates;
  /** Counts the events that the storage sends. Default: they are not counted. */
  readonly received?: Counter;
  /** The minimum number of past events that are kept; the maximum is twice that. Default: 128. */
  readonly historyLength?: number;
  /**
   * The number of events that may wait for one watcher before it is cut off (it then resumes).
   * Default: 10000.
   */
  readonly queueLimit?: number;
  /** The interval of bookmarks in ms. Default: one minute. */
  readonly bookmarkIntervalMs?: number;
}

export interface Subscription {
  /** Delivers events after this revision. */
  readonly afterRevision: number;
  /** The namespace; '' for all. */
  readonly namespace: string;
  readonly selection: Selection;
  readonly bookmarks: boolean;
  /** Only the last of several beats (see StorageBeats) is wanted, and no bookmark is due. Default: false. */
  readonly latestBeats?: boolean;
  /**
   * Events of objects that were renewed together (RenewedStates) may be left out. Default: false.
   */
  readonly withoutRenewals?: boolean;
  /** The time in ms after which the watch will be ended. Default: no timeout. */
  readonly timeoutMs?: number;
  /** Events that are delivered first. */
  readonly initial?: readonly EncodedWatchEvent[];
  /** See WatchOptions. */
  readonly emptyObject?: () => object;
}

const BOOKMARK_INTERVAL_MS = 60_000;
/**
 * The time before its timeout at which a watch gets a last bookmark, in ms, as in Kubernetes. The
 * client resumes from there.
 */
const BOOKMARK_BEFORE_END_MS = 2000;
const HISTORY_LENGTH = 128;

const NO_VALUES: readonly string[] = [];
const NO_EVENTS: readonly StorageEvent[] = [];

interface BookmarkParts {
  readonly annotations?: Readonly<Record<string, string>>;
  /** See WatchOptions. */
  readonly emptyObject?: () => object;
}

interface Subscriber {
  readonly queue: WatchQueue<EncodedWatchEvent>;
  readonly selection: Selection;
  readonly place: Place;
  readonly bookmarks: boolean;
  /** See Subscription. */
  readonly withoutRenewals: boolean;
  readonly emptyObject?: () => object;
  /** The revision up to which all events were delivered. */
  sentRevision: number;
  /**
   * Changes up to this revision are not delivered. Several changes may share a revision, so
   * sentRevision cannot be used for this.
   */
  afterRevision: number;
  /** The timer of the last bookmark before the timeout. */
  lastBookmark: Timer | undefined;
  /** Set while the watch receives bookmarks and each beat when it is due. */
  exact: { end(): void } | undefined;
}

/** Returns the object of a state; undefined if the state must be converted first. */
type Reader = (kv: KeyValue) => ServedObject | undefined;

export class EventSource {
  readonly #config: EventSourceConfig;
  readonly #historyLength: number;
  /**
   * The field by which watchers are indexed, because many watch one value each (pods:
   * spec.nodeName).
   */
  readonly #indexField: string | undefined;
  readonly #subscribers = new SubscriberIndex<Subscriber>();
  /** Subscribers that receive each beat, and bookmarks if requested. */
  readonly #exact = new Set<Subscriber>();
  /** The subscribers in `#subscribers` that get the events of renewals. */
  readonly #renewalReaders = new Set<Subscriber>();
  /** The number of subscribers in `#exact` that receive bookmarks. */
  #exactBookmarks = 0;
  /** Changes with a revision in (#historyStart, #revision], oldest first. */
  #history: Change[] = [];
  /** Only valid while the source is running. */
  #historyStart = 0;
  #revision = 0;
  /** More changes with `#revision` may follow; all earlier revisions have been published. */
  #partial = false;
  #running: Promise<void> | undefined;
  #watch: WatchStream<StorageEvent> | undefined;
  #bookmarkTimer: Timer | undefined;
  #closed = false;
  /** The storage watches of watchers of old revisions. */
  readonly #replays = new Set<WatchStream<StorageEvent>>();
  readonly #readNow: Reader;

  constructor(config: EventSourceConfig) {
    this.#config = config;
    this.#historyLength = config.historyLength ?? HISTORY_LENGTH;
    [this.#indexField] = config.selectableFields.indexed;
    this.#readNow = (kv) => config.cache.readNow(kv);
  }

  /** Starts the source. Resolves once it follows the storage: all later changes are kept. */
  async start(): Promise<void> {
    this.#running ??= this.#begin();
    await this.#running;
  }

  /** The number of current watchers. */
  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  /**
   * Adds a watcher. A compacted revision is an ERROR event of the stream (410), like any other
   * failure after the start.
   */
  async subscribe(subscription: Subscription): Promise<WatchStream<EncodedWatchEvent>> {
    await this.start();
    let replay: WatchStream<StorageEvent> | undefined;
    const subscriber: Subscriber = {
      queue: new WatchQueue<EncodedWatchEvent>({
        limit: (this.#config.queueLimit ?? 10_000) + (subscription.initial?.length ?? 0),
        // The watch ends as if it had timed out, and its client resumes from there.
        onOverflow: (queue) => {
          this.#config.logger.debug('watch: watcher did not keep up, ending its watch', {
            prefix: this.#config.prefix,
          });
          this.#remove(subscriber);
          queue.close();
        },
        onStop: () => {
          this.#remove(subscriber);
          replay?.stop();
        },
      }),
      selection: subscription.selection,
      place: this.#placeOf(subscription),
      bookmarks: subscription.bookmarks,
      withoutRenewals: subscription.withoutRenewals ?? false,
      ...(subscription.emptyObject !== undefined && { emptyObject: subscription.emptyObject }),
      sentRevision: subscription.afterRevision,
      afterRevision: subscription.afterRevision,
      lastBookmark: undefined,
      exact: undefined,
    };
    if (subscription.latestBeats !== true && !this.#closed) {
      this.#beExact(subscriber);
      // The last beats, which are published now, end the history, so that the history has no gap.
      if (this.#config.storage.beats !== undefined) await nextTurn();
    }
    for (const event of subscription.initial ?? []) subscriber.queue.push(event);
    if (this.#closed) {
      subscriber.queue.close();
      return subscriber.queue;
    }
    this.#planLastBookmark(subscriber, subscription);
    if (subscription.afterRevision >= this.#historyStart) {
      this.#join(subscriber);
      return subscriber.queue;
    }
    // The first progress event shows when all past events have arrived.
    const progressIntervalMs = this.#config.bookmarkIntervalMs ?? BOOKMARK_INTERVAL_MS;
    replay = this.#config.storage.watch(this.#config.prefix, {
      afterRevision: subscription.afterRevision,
      progressIntervalMs,
    });
    this.#replays.add(replay);
    void this.#replay(replay, subscriber);
    return subscriber.queue;
  }

  /** Ends every watch normally, after the events that were sent. */
  close(): void {
    this.#closed = true;
    this.#stopFollowing();
    for (const replay of this.#replays) replay.stop();
    this.#endAll();
  }

  async #begin(): Promise<void> {
    const { storage, clock } = this.#config;
    try {
      const revision = await storage.currentRevision();
      if (this.#closed) return;
      const interval = this.#config.bookmarkIntervalMs ?? BOOKMARK_INTERVAL_MS;
      this.#historyStart = revision;
      this.#revision = revision;
      this.#partial = false;
      this.#history = [];
      this.#watch = storage.watch(this.#config.prefix, {
        afterRevision: revision,
        progressIntervalMs: interval,
        progressTopic: this.#topic,
        progressWanted: () => this.#exactBookmarks > 0,
      });
      this.#bookmarkTimer = setPoll(clock, interval, () => this.#sendBookmarks(), {
        topic: this.#topic,
        mustRun: () => this.#exactBookmarks > 0,
      });
      void this.#follow(this.#watch);
    } catch (error) {
      this.#running = undefined;
      throw storageToStatus(error);
    }
  }

  #stopFollowing(): void {
    this.#watch?.stop();
    this.#watch = undefined;
    this.#bookmarkTimer?.cancel();
    this.#bookmarkTimer = undefined;
    this.#running = undefined;
  }

  async #follow(watch: WatchStream<StorageEvent>): Promise<void> {
    let failure: unknown;
    try {
      for await (const event of watch) {
        // The events that arrived together are processed together.
        const events = [event, ...(watch.drain?.() ?? NO_EVENTS)];
        const observed = this.#observeAll(events);
        if (observed < events.length) await this.#observeConverted(watch, events.slice(observed));
      }
    } catch (error) {
      failure = error;
    }
    if (this.#watch !== watch) return;
    // Without the storage's events watchers would miss changes, so all watches end and their
    // clients start again.
    this.#config.logger.debug('watch: storage watch ended, ending all watches of the resource', {
      prefix: this.#config.prefix,
      err: failure,
    });
    this.#stopFollowing();
    this.#endAll(failure instanceof ConversionError ? watchErrorEvent(failure) : undefined);
  }

  /** Publishes events up to the first one whose states must be converted. Returns their number. */
  #observeAll(events: readonly StorageEvent[]): number {
    for (let at = 0; at < events.length; at++)
      if (this.#observe(events[at]!) === 'unconverted') return at;
    return events.length;
  }

  /** Publishes events after converting their states. */
  async #observeConverted(
    watch: WatchStream<StorageEvent>,
    events: readonly StorageEvent[],
  ): Promise<void> {
    let read: Reader;
    try {
      read = await this.#readerOf(events);
    } catch (error) {
      if (events.length === 1) throw error;
      // The events before the one that cannot be converted are published.
      for (const event of events) await this.#observeConverted(watch, [event]);
      return;
    }
    // The source was closed in the meantime.
    if (this.#watch !== watch) return;
    for (const event of events) this.#observe(event, read);
  }

  /** Converts the states of the events in one call. Throws or rejects with ConversionError. */
  async #readerOf(events: readonly StorageEvent[]): Promise<Reader> {
    const states = events.flatMap(statesOf);
    const objects = await this.#config.cache.readAll(states);
    const read = new Map(states.map((kv, index) => [kv, objects[index]!]));
    return (kv) => read.get(kv);
  }

  /** Publishes an event, unless `read` returns undefined for one of its states. */
  #observe(event: StorageEvent, read: Reader = this.#readNow): 'observed' | 'unconverted' {
    if (event.type === 'progress') {
      this.#revision = event.revision;
      this.#partial = false;
      return 'observed';
    }
    const isRenewal = this.#isRenewal(event);
    // The history is for watchers, too, and there is none that this change concerns.
    const isUnseen = isRenewal && this.#renewalReaders.size === 0;
    const change = isUnseen ? undefined : this.#changeOf(event, read);
    if (change === undefined && !isUnseen && this.#subscribers.size > 0) return 'unconverted';
    this.#revision = event.revision;
    this.#partial = event.more === true;
    const coalesced = event.type === 'put' && event.coalesced === true;
    // Clients of ended watches watch again, and receive from the storage the events between their
    // last revision and this one.
    if (coalesced) {
      for (const subscriber of this.#exact)
        if (this.#subscribers.has(subscriber)) this.#end(subscriber);
    }
    if (this.#config.received !== undefined) this.#config.received.value++;
    if (change === undefined) {
      // Nothing is converted only for the history.
      this.#history = [];
      this.#historyStart = event.revision;
      return 'observed';
    }
    this.#history.push(change);
    if (this.#history.length > 2 * this.#historyLength) {
      const dropped = this.#history.length - this.#historyLength;
      this.#historyStart = this.#history[dropped - 1]!.revision;
      this.#history = this.#history.slice(dropped);
    }
    if (this.#subscribers.size > 0)
      this.#subscribers.forEachConcerned(change, (subscriber) => {
        if (!isRenewal || !subscriber.withoutRenewals) this.#deliver(change, subscriber);
      });
    if (coalesced) {
      // The history has no gaps.
      this.#history = [];
      this.#historyStart = event.revision;
    }
    return 'observed';
  }

  /** Reports whether a watcher may leave out the event. */
  #isRenewal(event: ChangeEvent): boolean {
    const { renewed } = this.#config;
    if (renewed === undefined || event.type !== 'put' || event.previous === undefined) return false;
    return this.#subscribers.size > this.#renewalReaders.size && renewed.has(event.kv);
  }

  /**
   * Returns the change of an event; undefined if `read` returns undefined for one of its states.
   */
  #changeOf(event: ChangeEvent, read: Reader): Change | undefined {
    const previous = event.previous === undefined ? undefined : read(event.previous);
    const current = event.type === 'put' ? read(event.kv) : undefined;
    if (previous === undefined && event.previous !== undefined) return undefined;
    if (current === undefined && event.type === 'put') return undefined;
    const key = keyOf(event);
    const { namespace, name } = this.#placeOfKey(key);
    const values = this.#valuesOf(current, previous);
    const change = new Change(event.revision, { namespace, name, values }, current, previous);
    // The cache forgets the key only after its last state has been read.
    if (event.type === 'delete') this.#config.cache.forget(key);
    return change;
  }

  #deliver(change: Change, subscriber: Subscriber): void {
    if (change.revision <= subscriber.afterRevision) return;
    const event = change.seenThrough(subscriber.selection, this.#config.selectableFields);
    if (event === undefined) return;
    subscriber.sentRevision = change.revision;
    subscriber.queue.push(event);
  }

  #deliverIfConcerned(change: Change, subscriber: Subscriber): void {
    if (concerns(change, subscriber.place)) this.#deliver(change, subscriber);
  }

  /**
   * Delivers events that are older than the history, until both meet. From then on the watcher is
   * like all others.
   */
  async #replay(watch: WatchStream<StorageEvent>, subscriber: Subscriber): Promise<void> {
    let replayed = subscriber.afterRevision;
    try {
      for await (const event of watch) {
        // More events of a started revision may follow. Such a revision is delivered completely
        // from here or from the history.
        const delivered = event.type === 'progress' ? event.revision : event.revision - 1;
        if (
          delivered >= this.#historyStart &&
          delivered >= replayed &&
          this.#watch !== undefined &&
          !subscriber.queue.ended
        ) {
          subscriber.afterRevision = Math.max(subscriber.afterRevision, delivered);
          subscriber.sentRevision = Math.max(subscriber.sentRevision, delivered);
          this.#join(subscriber);
          return;
        }
        if (event.type === 'progress') continue;
        replayed = event.revision;
        const change = await this.#changeFor(event, subscriber.place);
        if (change !== undefined) this.#deliverIfConcerned(change, subscriber);
      }
      subscriber.queue.close();
    } catch (error) {
      subscriber.queue.push(watchErrorEvent(error));
      subscriber.queue.close();
    } finally {
      if (subscriber.queue.ended) {
        subscriber.lastBookmark?.cancel();
        subscriber.exact?.end();
      }
      this.#replays.delete(watch);
    }
  }

  /**
   * Returns the change of an event, with converted states; undefined if its key is outside of the
   * place, so that no state need be read.
   */
  #changeFor(event: ChangeEvent, place: Place): Awaitable<Change | undefined> {
    const { namespace, name } = this.#placeOfKey(keyOf(event));
    if (!concerns({ namespace, name, values: NO_VALUES }, { ...place, value: undefined }))
      return undefined;
    return (
      this.#changeOf(event, this.#readNow) ??
      this.#readerOf([event]).then((read) => this.#changeOf(event, read))
    );
  }

  /** Delivers the history after the watcher's revision, and adds it to the watchers. */
  #join(subscriber: Subscriber): void {
    for (const change of this.#history) this.#deliverIfConcerned(change, subscriber);
    if (subscriber.queue.ended) return;
    this.#subscribers.add(subscriber);
    if (!subscriber.withoutRenewals) this.#renewalReaders.add(subscriber);
  }

  /** The revision up to which all changes were published. */
  get #toldRevision(): number {
    return this.#partial ? this.#revision - 1 : this.#revision;
  }

  #sendBookmarks(): void {
    const revision = this.#toldRevision;
    for (const subscriber of this.#subscribers) {
      if (!subscriber.bookmarks || subscriber.sentRevision >= revision) continue;
      subscriber.sentRevision = revision;
      subscriber.queue.push(this.bookmark(revision, subscriber));
    }
  }

  #planLastBookmark(subscriber: Subscriber, { bookmarks, timeoutMs }: Subscription): void {
    if (!bookmarks || timeoutMs === undefined || timeoutMs <= BOOKMARK_BEFORE_END_MS) return;
    subscriber.lastBookmark = this.#config.clock.setTimer(
      timeoutMs - BOOKMARK_BEFORE_END_MS,
      () => {
        // A watcher that has not caught up gets its progress with its events.
        if (!this.#subscribers.has(subscriber)) return;
        // A watch cannot resume within a revision.
        if (this.#partial && subscriber.sentRevision === this.#revision) return;
        // The bookmark is sent even without new events: the client may not have the revision of the
        // initial state.
        subscriber.sentRevision = Math.max(subscriber.sentRevision, this.#toldRevision);
        subscriber.queue.push(this.bookmark(subscriber.sentRevision, subscriber));
      },
    );
  }

  /**
   * Returns a bookmark event: an object of the kind with a resourceVersion, and with those fields
   * that objects of the kind always have.
   */
  bookmark(
    revision: number | string,
    { annotations, emptyObject }: BookmarkParts,
  ): EncodedWatchEvent {
    const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) };
    const { apiVersion, kind } = this.#config;
    const object = { kind, apiVersion, ...emptyObject?.(), metadata };
    return new SharedWatchEvent('BOOKMARK', new FreshObject(object));
  }

  /** Ends every watch of the source, with `last` as its last event. */
  #endAll(last?: EncodedWatchEvent): void {
    for (const subscriber of this.#subscribers) {
      subscriber.lastBookmark?.cancel();
      subscriber.exact?.end();
      if (last !== undefined) subscriber.queue.push(last);
      subscriber.queue.close();
    }
    this.#subscribers.clear();
    this.#renewalReaders.clear();
  }

  get #topic(): string {
    return `watch ${this.#config.prefix}`;
  }

  #beExact(subscriber: Subscriber): void {
    const { clock, storage, prefix } = this.#config;
    const release = storage.beats?.observe(prefix);
    subscriber.exact = {
      end: () => {
        subscriber.exact = undefined;
        this.#exact.delete(subscriber);
        if (subscriber.bookmarks) this.#exactBookmarks--;
        release?.();
      },
    };
    this.#exact.add(subscriber);
    if (!subscriber.bookmarks) return;
    this.#exactBookmarks++;
    stir(clock, this.#topic);
  }

  /** Ends a watch as if the server had timed it out. */
  #end(subscriber: Subscriber): void {
    this.#remove(subscriber);
    subscriber.queue.close();
  }

  #remove(subscriber: Subscriber): void {
    subscriber.exact?.end();
    subscriber.lastBookmark?.cancel();
    this.#subscribers.delete(subscriber);
    this.#renewalReaders.delete(subscriber);
  }

  #placeOf({ namespace: requested, selection }: Subscription): Place {
    const { namespaced } = this.#config;
    const indexField = this.#indexField;
    const namespace = namespaced ? requested || (selection.exact('metadata.namespace') ?? '') : '';
    const name = selection.exact('metadata.name') ?? '';
    const value = indexField === undefined || name !== '' ? undefined : selection.exact(indexField);
    return { namespace, name, value };
  }

  #placeOfKey(key: string): { readonly namespace: string; readonly name: string } {
    const { prefix, namespaced } = this.#config;
    const slash = namespaced ? key.indexOf('/', prefix.length) : -1;
    return {
      namespace: slash < 0 ? '' : key.slice(prefix.length, slash),
      name: key.slice(slash < 0 ? prefix.length : slash + 1),
    };
  }

  /** Returns the values of the indexed field before and after the change. */
  #valuesOf(
    current: ServedObject | undefined,
    previous: ServedObject | undefined,
  ): readonly string[] {
    const { selectableFields } = this.#config;
    const indexField = this.#indexField;
    if (indexField === undefined) return NO_VALUES;
    const values: string[] = [];
    for (const state of [current, previous]) {
      if (state === undefined) continue;
      const value = selectableFields.valueOf(state.object(), indexField);
      if (!values.includes(value)) values.push(value);
    }
    return values;
  }
}
