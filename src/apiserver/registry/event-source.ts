// The changes of one resource, for all who watch it: one watch on the storage, each event decoded and encoded once, handed to
// the watchers that an index says it may concern. It remembers the last events, so that a watcher that comes back after a
// short while is served from memory; one that asks for an older revision gets a storage watch of its own.
//
// States in another version than the served one are converted before anything is published. While a conversion runs, no further event is
// taken: the order is kept, and the storage holds events back as for any slow consumer. Events that wait together are converted in one
// call. If a conversion fails, the watchers of this source get an ERROR event and end; those of other kinds and versions do not notice.

import type { Awaitable } from '#machinery/awaitable.ts';
import { type Clock, setPoll, stir, type Timer } from '#machinery/clock.ts';
import type { Counter } from '#machinery/metrics/instruments.ts';
import type { Logger } from '#machinery/log.ts';
import { nextTurn } from '#machinery/turn.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import type { KeyValue, Storage, StorageEvent } from '#storage/interface.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { FreshObject, type ServedObject, SharedWatchEvent } from './encoded-object.ts';
import type { ObjectCache } from './object-cache.ts';
import { ConversionError } from './object-converter.ts';
import type { SelectableFields } from './selectable-fields.ts';
import type { Selection } from './selection.ts';
import { type ChangedPlace, concerns, type Place, SubscriberIndex } from './subscriber-index.ts';
import { storageToStatus, watchErrorEvent } from './storage-errors.ts';

export interface EventSourceConfig {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Keys of the resource begin with this; it ends in '/'. */
  readonly prefix: string;
  readonly cache: ObjectCache;
  readonly namespaced: boolean;
  readonly apiVersion: string;
  readonly kind: string;
  readonly selectableFields: SelectableFields;
  /** Counts the events that the storage sends. Default: they are not counted. */
  readonly received?: Counter;
  /** How many past events are remembered, at least; twice as many at most. Default: 128. */
  readonly historyLength?: number;
  /** Events that may wait for one watcher before it is cut off (it comes back and resumes). Default: 10000. */
  readonly queueLimit?: number;
  /** Default: one minute. */
  readonly bookmarkIntervalMs?: number;
}

export interface Subscription {
  /** Events after this revision. */
  readonly afterRevision: number;
  /** '' for all. */
  readonly namespace: string;
  readonly selection: Selection;
  readonly bookmarks: boolean;
  /** Only the last of several beats (see StorageBeats) is wanted, and no bookmark is due. Default: false. */
  readonly latestBeats?: boolean;
  /** When it will be ended. Default: not by time. */
  readonly timeoutMs?: number;
  /** Delivered before all else. */
  readonly initial?: readonly EncodedWatchEvent[];
}

const BOOKMARK_INTERVAL_MS = 60_000;
/** A watch that is over soon is told how far it has come so long before, and its client goes on from there. As Kubernetes does. */
const BOOKMARK_BEFORE_END_MS = 2000;
const HISTORY_LENGTH = 128;

const NO_VALUES: readonly string[] = [];
const NO_EVENTS: readonly StorageEvent[] = [];

type ChangeEvent = Exclude<StorageEvent, { type: 'progress' }>;

/** One change, with what every watcher of it shares. */
class Change implements ChangedPlace {
  readonly revision: number;
  readonly namespace: string;
  readonly name: string;
  readonly values: readonly string[];
  /** Absent: deleted. */
  readonly current: ServedObject | undefined;
  readonly previous: ServedObject | undefined;
  #added: SharedWatchEvent | undefined;
  #modified: SharedWatchEvent | undefined;
  #deleted: SharedWatchEvent | undefined;

  constructor(
    revision: number,
    { namespace, name, values }: ChangedPlace,
    current: ServedObject | undefined,
    previous: ServedObject | undefined,
  ) {
    this.revision = revision;
    this.namespace = namespace;
    this.name = name;
    this.values = values;
    this.current = current;
    this.previous = previous;
  }

  /** What a watcher sees: an object that begins or ceases to match its selection appears or disappears. */
  seenThrough(selection: Selection, fields: SelectableFields): SharedWatchEvent | undefined {
    const { current, previous } = this;
    const is = current !== undefined && selection.matches(current, fields);
    const was = previous !== undefined && selection.matches(previous, fields);
    if (is && current !== undefined) {
      if (was) return (this.#modified ??= new SharedWatchEvent('MODIFIED', current));
      return (this.#added ??= new SharedWatchEvent('ADDED', current));
    }
    if (!was || previous === undefined) return undefined;
    // The last state that the watcher may see, numbered as the change that took it out of its sight.
    return (this.#deleted ??= new SharedWatchEvent('DELETED', previous.at(this.revision)));
  }
}

interface Subscriber {
  readonly queue: WatchQueue<EncodedWatchEvent>;
  readonly selection: Selection;
  readonly place: Place;
  readonly bookmarks: boolean;
  /** The revision up to which it has been told everything. */
  sentRevision: number;
  /** Changes up to here are not for it. Several changes may share a revision: what was sent last does not say what is due. */
  afterRevision: number;
  /** The bookmark before its end. */
  lastBookmark: Timer | undefined;
  /** It gets each beat when it is due, and bookmarks. Set as long as it is served. */
  exact: { end(): void } | undefined;
}

/** Returns the object of a state; undefined if it must be converted first. */
type Reader = (kv: KeyValue) => ServedObject | undefined;

export class EventSource {
  readonly #config: EventSourceConfig;
  readonly #historyLength: number;
  /** The field by whose value watchers are indexed, because many watch one value each (pods: spec.nodeName). */
  readonly #indexField: string | undefined;
  readonly #subscribers = new SubscriberIndex<Subscriber>();
  /** Subscribers that get each beat, and bookmarks if they want them. */
  readonly #exact = new Set<Subscriber>();
  /** The number of them that get bookmarks. */
  #exactBookmarks = 0;
  /** Changes with a revision in (#historyStart, #revision], oldest first. */
  #history: Change[] = [];
  /** Meaningful while running. */
  #historyStart = 0;
  #revision = 0;
  /** Of `#revision` more changes are still to come; everything before it has been told. */
  #partial = false;
  #running: Promise<void> | undefined;
  #watch: WatchStream<StorageEvent> | undefined;
  #bookmarkTimer: Timer | undefined;
  #closed = false;
  /** Storage watches of those who asked for the distant past. */
  readonly #replays = new Set<WatchStream<StorageEvent>>();
  readonly #readNow: Reader;

  constructor(config: EventSourceConfig) {
    this.#config = config;
    this.#historyLength = config.historyLength ?? HISTORY_LENGTH;
    [this.#indexField] = config.selectableFields.indexed;
    this.#readNow = (kv) => config.cache.readNow(kv);
  }

  /** Resolves once the source follows the storage: changes after this moment are remembered. */
  async start(): Promise<void> {
    this.#running ??= this.#begin();
    await this.#running;
  }

  /** Watchers that are served now. */
  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  /** A revision that is gone is an ERROR event of the stream (410), like any other failure after the start. */
  async subscribe(subscription: Subscription): Promise<WatchStream<EncodedWatchEvent>> {
    await this.start();
    let replay: WatchStream<StorageEvent> | undefined;
    const subscriber: Subscriber = {
      queue: new WatchQueue<EncodedWatchEvent>({
        limit: (this.#config.queueLimit ?? 10_000) + (subscription.initial?.length ?? 0),
        // It ends as if the server had timed it out, and its client resumes where it is.
        onOverflow: (queue) => {
          this.#config.logger.debug('a watcher did not keep up and was cut off', {
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
      sentRevision: subscription.afterRevision,
      afterRevision: subscription.afterRevision,
      lastBookmark: undefined,
      exact: undefined,
    };
    if (subscription.latestBeats !== true && !this.#closed) {
      this.#beExact(subscriber);
      // The last beats, which are published now, end the history: then it has no gap.
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
    // The progress that it tells at once says when all of the past has come.
    const progressIntervalMs = this.#config.bookmarkIntervalMs ?? BOOKMARK_INTERVAL_MS;
    replay = this.#config.storage.watch(this.#config.prefix, {
      afterRevision: subscription.afterRevision,
      progressIntervalMs,
    });
    this.#replays.add(replay);
    void this.#replay(replay, subscriber);
    return subscriber.queue;
  }

  /** Ends every watch normally, after what was sent. */
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
        // With the events that came together with it.
        const events = [event, ...(watch.drain?.() ?? NO_EVENTS)];
        const observed = this.#observeAll(events);
        if (observed < events.length) await this.#observeConverted(watch, events.slice(observed));
      }
    } catch (error) {
      failure = error;
    }
    if (this.#watch !== watch) return;
    // Without the storage's events nobody may go on believing that nothing happens: all come back and begin anew.
    this.#config.logger.debug('watch on the storage ended', {
      prefix: this.#config.prefix,
      err: failure,
    });
    this.#stopFollowing();
    this.#endAll(failure instanceof ConversionError ? watchErrorEvent(failure) : undefined);
  }

  /** Publishes events up to the first whose states must be converted. Returns how many those are. */
  #observeAll(events: readonly StorageEvent[]): number {
    for (let at = 0; at < events.length; at++)
      if (this.#observe(events[at]!) === 'unconverted') return at;
    return events.length;
  }

  /** Publishes events after their states were converted. */
  async #observeConverted(
    watch: WatchStream<StorageEvent>,
    events: readonly StorageEvent[],
  ): Promise<void> {
    let read: Reader;
    try {
      read = await this.#readerOf(events);
    } catch (error) {
      if (events.length === 1) throw error;
      // Those before the one that cannot be converted are published.
      for (const event of events) await this.#observeConverted(watch, [event]);
      return;
    }
    // The source was closed in the meantime.
    if (this.#watch !== watch) return;
    for (const event of events) this.#observe(event, read);
  }

  /** Reads the states of the events, in one conversion. Throws or rejects with ConversionError. */
  async #readerOf(events: readonly StorageEvent[]): Promise<Reader> {
    const states = events.flatMap(statesOf);
    const objects = await this.#config.cache.readAll(states);
    const read = new Map(states.map((kv, index) => [kv, objects[index]!]));
    return (kv) => read.get(kv);
  }

  /** Publishes an event, unless `read` does not know one of its states. */
  #observe(event: StorageEvent, read: Reader = this.#readNow): 'observed' | 'unconverted' {
    if (event.type === 'progress') {
      this.#revision = event.revision;
      this.#partial = false;
      return 'observed';
    }
    const change = this.#changeOf(event, read);
    if (change === undefined && this.#subscribers.size > 0) return 'unconverted';
    this.#revision = event.revision;
    this.#partial = event.more === true;
    const coalesced = event.type === 'put' && event.coalesced === true;
    // They come back, and get what is between their last revision and this one from the storage.
    if (coalesced) {
      for (const subscriber of [...this.#exact])
        if (this.#subscribers.has(subscriber)) this.#end(subscriber);
    }
    if (this.#config.received !== undefined) this.#config.received.value++;
    if (change === undefined) {
      // Nothing is converted for the history alone.
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
      this.#subscribers.forEachConcerned(change, (subscriber) => this.#deliver(change, subscriber));
    if (coalesced) {
      // The history has no gaps.
      this.#history = [];
      this.#historyStart = event.revision;
    }
    return 'observed';
  }

  /** Returns the change that the event is of; undefined if `read` does not know one of its states. */
  #changeOf(event: ChangeEvent, read: Reader): Change | undefined {
    const previous = event.previous === undefined ? undefined : read(event.previous);
    const current = event.type === 'put' ? read(event.kv) : undefined;
    if (previous === undefined && event.previous !== undefined) return undefined;
    if (current === undefined && event.type === 'put') return undefined;
    const key = keyOf(event);
    const { namespace, name } = this.#placeOfKey(key);
    const values = this.#valuesOf(current, previous);
    const change = new Change(event.revision, { namespace, name, values }, current, previous);
    // Not before its last state has been read.
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

  /** Tells what the source does not remember, until the two meet; from there on the watcher is one like all others. */
  async #replay(watch: WatchStream<StorageEvent>, subscriber: Subscriber): Promise<void> {
    let replayed = subscriber.afterRevision;
    try {
      for await (const event of watch) {
        // Of a revision that has begun to come there may be more to come: it is told from here, or from the history, as a whole.
        const known = event.type === 'progress' ? event.revision : event.revision - 1;
        if (
          known >= this.#historyStart &&
          known >= replayed &&
          this.#watch !== undefined &&
          !subscriber.queue.ended
        ) {
          subscriber.afterRevision = Math.max(subscriber.afterRevision, known);
          subscriber.sentRevision = Math.max(subscriber.sentRevision, known);
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

  /** Returns the change that the event is of, its states converted; undefined if its key is not in the place, so that nothing need be read. */
  #changeFor(event: ChangeEvent, place: Place): Awaitable<Change | undefined> {
    const { namespace, name } = this.#placeOfKey(keyOf(event));
    if (!concerns({ namespace, name, values: NO_VALUES }, { ...place, value: undefined }))
      return undefined;
    return (
      this.#changeOf(event, this.#readNow) ??
      this.#readerOf([event]).then((read) => this.#changeOf(event, read))
    );
  }

  /** All that is remembered after what the watcher knows, and then whatever comes. */
  #join(subscriber: Subscriber): void {
    for (const change of this.#history) this.#deliverIfConcerned(change, subscriber);
    if (!subscriber.queue.ended) this.#subscribers.add(subscriber);
  }

  /** Up to here every change has been told to whoever is filed. */
  get #toldRevision(): number {
    return this.#partial ? this.#revision - 1 : this.#revision;
  }

  #sendBookmarks(): void {
    const told = this.#toldRevision;
    for (const subscriber of this.#subscribers) {
      if (!subscriber.bookmarks || subscriber.sentRevision >= told) continue;
      subscriber.sentRevision = told;
      subscriber.queue.push(this.bookmark(told));
    }
  }

  #planLastBookmark(subscriber: Subscriber, { bookmarks, timeoutMs }: Subscription): void {
    if (!bookmarks || timeoutMs === undefined || timeoutMs <= BOOKMARK_BEFORE_END_MS) return;
    subscriber.lastBookmark = this.#config.clock.setTimer(
      timeoutMs - BOOKMARK_BEFORE_END_MS,
      () => {
        // One that has not caught up knows from its events how far it has come.
        if (!this.#subscribers.has(subscriber)) return;
        // In the midst of a revision nobody can resume.
        if (this.#partial && subscriber.sentRevision === this.#revision) return;
        // Also when nothing is new to the server: of a state that was sent first, the client may not know the revision.
        subscriber.sentRevision = Math.max(subscriber.sentRevision, this.#toldRevision);
        subscriber.queue.push(this.bookmark(subscriber.sentRevision));
      },
    );
  }

  /** A bookmark event: an object of the kind with nothing but a resourceVersion. */
  bookmark(
    revision: number | string,
    annotations?: Readonly<Record<string, string>>,
  ): EncodedWatchEvent {
    const metadata = {
      resourceVersion: String(revision),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    const { apiVersion, kind } = this.#config;
    return new SharedWatchEvent('BOOKMARK', new FreshObject({ kind, apiVersion, metadata }));
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

  /** Of the indexed field. */
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

function keyOf(event: ChangeEvent): string {
  return event.type === 'put' ? event.kv.key : event.key;
}

function statesOf(event: StorageEvent): readonly KeyValue[] {
  if (event.type === 'progress') return [];
  const previous = event.previous === undefined ? [] : [event.previous];
  return event.type === 'put' ? [event.kv, ...previous] : previous;
}
