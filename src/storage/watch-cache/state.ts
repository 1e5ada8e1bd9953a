// The cache's copy: the latest values under a prefix, in order of key, and the last events. It is
// purely a data structure.

import type { IndexDefinition, KeyValue, ListOptions, Revision } from '../interface.ts';
import { CountedTree } from '../mvcc/counted-tree.ts';
import { KeyIndex } from '../mvcc/key-index.ts';
import { endOfPrefix, lessFor, successor } from '../mvcc/key-order.ts';
import { type ChangeEvent, keyOf } from '../mvcc/store.ts';
import { nextTurn } from '#machinery/turn.ts';

export interface RingLimits {
  /** The number of events that are kept. */
  readonly events: number;
  /** The number of bytes of values that only kept events need. */
  readonly bytes: number;
}

interface Entry {
  readonly key: string;
  kv: KeyValue;
}

export class CacheState {
  readonly #tree = new CountedTree<Entry>(() => true);
  readonly #limits: RingLimits;
  readonly #indexes = new Map<IndexDefinition, KeyIndex>();
  /**
   * #events[#first …] are the last events, in order of revision. Several may share one revision.
   */
  #events: ChangeEvent[] = [];
  #first = 0;
  #bytes = 0;
  /** All events after this revision are kept. */
  #ringStart: Revision;
  #revision: Revision;
  /**
   * The newest revision of which changes have arrived, perhaps not all: #revision, or a later one.
   */
  #newest: Revision;

  /** Creates the state from a list at `revision`. */
  constructor(items: readonly KeyValue[], revision: Revision, limits: RingLimits) {
    this.#limits = limits;
    this.#revision = revision;
    this.#newest = revision;
    this.#ringStart = revision;
    for (const kv of items) this.#tree.insert({ key: kv.key, kv: withValueOfItsOwn(kv) });
  }

  /** The revision up to which the state is complete. */
  get revision(): Revision {
    return this.#revision;
  }

  get size(): number {
    return this.#tree.size;
  }

  /** The number of kept events. */
  get remembered(): number {
    return this.#events.length - this.#first;
  }

  get(key: string): KeyValue | undefined {
    return this.#tree.get(key)?.kv;
  }

  count(prefix: string): number {
    return this.#tree.countBefore(endOfPrefix(prefix)) - this.#tree.countBefore(prefix);
  }

  list(
    prefix: string,
    options: ListOptions,
  ): { readonly items: readonly KeyValue[]; readonly remaining: number } {
    const limit = options.limit || Number.POSITIVE_INFINITY;
    const after = options.startAfter === undefined ? prefix : successor(options.startAfter);
    const from = lessFor(prefix)(after, prefix) ? prefix : after;
    const items: KeyValue[] = [];
    let more = false;
    this.#tree.scan(from, endOfPrefix(prefix), ({ kv }) => {
      more = items.length >= limit;
      if (!more) items.push(kv);
      return !more;
    });
    const last = items.at(-1);
    if (!more || last === undefined) return { items, remaining: 0 };
    return {
      items,
      remaining:
        this.#tree.countBefore(endOfPrefix(prefix)) - this.#tree.countBefore(successor(last.key)),
    };
  }

  /**
   * Returns the index for this definition, and adds it if there is none. It reaches as far back as
   * events are kept.
   */
  indexOf(definition: IndexDefinition): KeyIndex {
    const present = this.#indexes.get(definition);
    if (present !== undefined) return present;
    const { prefix, valueOf } = definition;
    const index = new KeyIndex({
      prefix,
      valueOf,
      scan: (startAfter, limit) => this.list(prefix, { startAfter, limit }).items,
      revision: () => this.#newest,
      yieldTurn: nextTurn,
    });
    this.#indexes.set(definition, index);
    return index;
  }

  removeIndex(definition: IndexDefinition): void {
    this.#indexes.delete(definition);
  }

  /**
   * Applies a change. The state is complete at its revision once all changes of that revision have
   * arrived. Returns the event to publish.
   */
  apply(incoming: ChangeEvent): ChangeEvent {
    const key = keyOf(incoming);
    const entry = this.#tree.get(key);
    // The event refers to the cache's own value, so that a value is in memory once, however many
    // events have it.
    const previous =
      entry?.kv.modRevision === incoming.previous?.modRevision ? entry?.kv : incoming.previous;
    let event: ChangeEvent;
    if (incoming.type === 'delete') {
      this.#tree.delete(key);
      event = { ...incoming, previous: previous ?? incoming.previous };
    } else {
      const kv = withValueOfItsOwn(incoming.kv);
      if (entry === undefined) this.#tree.insert({ key, kv });
      else entry.kv = kv;
      event = previous === undefined ? { ...incoming, kv } : { ...incoming, kv, previous };
    }
    for (const index of this.#indexes.values())
      index.apply(key, event.type === 'put' ? event.kv : undefined, incoming.revision);
    this.#newest = incoming.revision;
    this.#events.push(event);
    this.#bytes += previous?.value.length ?? 0;
    if (incoming.more !== true) this.reached(incoming.revision);
    return event;
  }

  /** Records that no event up to this revision is still to come. */
  reached(revision: Revision): void {
    this.#revision = Math.max(this.#revision, revision);
    this.#newest = Math.max(this.#newest, revision);
    this.#forget();
  }

  /** Returns the events under the prefix after the revision; undefined if they are no longer kept. */
  eventsAfter(revision: Revision, prefix: string): ChangeEvent[] | undefined {
    if (revision < this.#ringStart) return undefined;
    // Binary search for the first event after the revision.
    let low = this.#first;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    const events: ChangeEvent[] = [];
    for (let i = low; i < this.#events.length; i++) {
      const event = this.#events[i]!;
      if (keyOf(event).startsWith(prefix)) events.push(event);
    }
    return events;
  }

  /** Drops the events up to the revision. */
  compact(revision: Revision): void {
    this.#forget(revision);
    this.#ringStart = Math.max(this.#ringStart, revision);
    for (const index of this.#indexes.values()) index.compact(this.#ringStart);
  }

  #forget(upTo: Revision = 0): void {
    for (;;) {
      const next = this.#events[this.#first];
      const tooMany =
        this.remembered > this.#limits.events ||
        (this.#bytes > this.#limits.bytes && this.remembered > 1);
      if (next === undefined || (next.revision > upTo && !tooMany)) break;
      const oldest = this.#events[this.#first]!;
      this.#first++;
      this.#bytes -= oldest.previous?.value.length ?? 0;
      this.#ringStart = oldest.revision;
    }
    if (this.#first >= 1024 && this.#first * 2 >= this.#events.length) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
      for (const index of this.#indexes.values()) index.compact(this.#ringStart);
    }
  }
}

/**
 * Copies the value if it is a view. Values from a connection are views of whole messages, which
 * would stay in memory with them.
 */
function withValueOfItsOwn(kv: KeyValue): KeyValue {
  const { value } = kv;
  if (value.byteLength === value.buffer.byteLength) return kv;
  return { ...kv, value: Uint8Array.prototype.slice.call(value) };
}
