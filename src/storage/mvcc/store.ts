// The readable state of an engine: the versions of every key back to the compaction revision, and
// the log of events since then. It is purely a data structure: no time, no I/O, no notifications.
// Everything in it is committed.

import { ForkableLog } from '#machinery/collections/forkable-log.ts';
import {
  type IndexDefinition,
  type IndexListResult,
  type KeyValue,
  type ListOptions,
  type ListResult,
  type Revision,
  StorageError,
  type StorageEvent,
  type ValuePatch,
} from '../interface.ts';
import { plainValues, type ValuePacking } from '../packing/index.ts';
import { sizeOf } from '../value.ts';
import { CountedTree } from './counted-tree.ts';
import { Directories, directoryOf } from './directories.ts';
import { KeyIndex, type KeyQuery } from './key-index.ts';
import { endOfPrefix, lessFor, successor } from './key-order.ts';

/** A StorageEvent about a key: a put or a delete. */
export type ChangeEvent = Exclude<StorageEvent, { readonly type: 'progress' }>;

/** An entry of a key's history: the key did not exist from this revision on. */
interface Tombstone {
  /** The revision of the deletion. */
  readonly modRevision: Revision;
}

type Version = KeyValue | Tombstone;

function isTombstone(version: Version): version is Tombstone {
  return !('key' in version);
}

/**
 * A key and its versions. It is in the tree as long as the key exists, or existed at a readable
 * revision.
 */
class Entry {
  /** The store that may change this entry; others replace it by a copy. */
  readonly owner: object;
  readonly key: string;
  /** Absent exactly when the key does not exist now. */
  latest: KeyValue | undefined;
  /**
   * Older versions that a readable revision needs, in ascending order. The last one is a tombstone
   * if `latest` is absent.
   */
  past: Version[] | undefined;

  constructor(owner: object, key: string) {
    this.owner = owner;
    this.key = key;
  }

  /** Returns the same versions, as an entry of another store. */
  copy(owner: object): Entry {
    const copy = new Entry(owner, this.key);
    copy.latest = this.latest;
    copy.past = this.past?.slice();
    return copy;
  }

  at(revision: Revision): KeyValue | undefined {
    if (this.latest !== undefined && this.latest.modRevision <= revision) return this.latest;
    const past = this.past;
    if (past === undefined) return undefined;
    // Finds the number of versions up to the revision. The last of them was the current one then.
    let low = 0;
    let high = past.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (past[middle]!.modRevision <= revision) low = middle + 1;
      else high = middle;
    }
    const version = past[low - 1];
    return version === undefined || isTombstone(version) ? undefined : version;
  }

  push(version: Version): void {
    if (this.past === undefined) this.past = [version];
    else this.past.push(version);
  }
}

/**
 * The number of the latest writes whose values stay as they were written: their writers and watchers
 * still read them.
 */
const PLAIN_WRITES = 1024;

/** A bound after every key in use: the last code point. */
const LAST_KEY = '\u{10ffff}';

export class MvccStore {
  #owner = {};
  #tree = new CountedTree<Entry>((entry) => entry.latest !== undefined);
  /** The directories of the keys in the tree. */
  #directories = new Directories();
  #indexes: KeyIndex[] = [];
  /** The events of revisions #compacted + 1 … #revision, one each, in order. */
  #log = new ForkableLog<ChangeEvent>();
  /** The oldest revision that can be read under all prefixes. */
  #compacted: Revision;
  /** The oldest revision that can be read under any prefix. Not after #compacted. */
  #expired: Revision;
  #revision: Revision;
  #historyBytes = 0;
  readonly #packing: ValuePacking;

  /**
   * Creates an empty store at `revision`. Default: 1, so that no read returns 0, which means
   * «latest» and «from now».
   */
  constructor(revision: Revision = 1, packing: ValuePacking = plainValues) {
    this.#packing = packing;
    this.#compacted = revision;
    this.#expired = revision;
    this.#revision = revision;
  }

  /**
   * Returns a store with the same state and history, independent of this one; the two share what
   * neither changes. Takes constant time, but for a few bytes for each revision of the history.
   * Indexes are not copied.
   */
  fork(): MvccStore {
    const fork = new MvccStore(1, this.#packing);
    fork.#tree = this.#tree.fork();
    fork.#directories = this.#directories.fork();
    fork.#log = this.#log.fork();
    fork.#compacted = this.#compacted;
    fork.#expired = this.#expired;
    fork.#revision = this.#revision;
    fork.#historyBytes = this.#historyBytes;
    // Neither store owns the shared entries now.
    this.#owner = {};
    return fork;
  }

  /**
   * Takes back every write after the revision. Only before the store has indexes. Throws Expired,
   * FutureRevision.
   */
  rewind(revision: Revision): void {
    this.#checkReadable(revision, '');
    if (this.#indexes.length > 0) throw new Error('mvcc: a store with indexes cannot be rewound');
    for (; this.#revision > revision; this.#revision--) {
      const event = this.#log.at(this.#log.length - 1) as ChangeEvent;
      this.#log.dropLast(1);
      this.#takeBack(event);
    }
  }

  #takeBack({ type, previous, ...event }: ChangeEvent): void {
    const key = 'kv' in event ? event.kv.key : event.key;
    const entry = this.#owned(this.#tree.get(key) as Entry);
    if (type === 'delete') entry.past = withoutLast(entry.past);
    if (previous !== undefined) {
      entry.past = withoutLast(entry.past);
      this.#historyBytes -= sizeOf(previous);
    }
    const change = type === 'delete' ? 1 : previous === undefined ? -1 : 0;
    entry.latest = previous;
    if (change !== 0) this.#tree.recount(key, change);
    if (entry.latest === undefined && entry.past === undefined) this.#forget(key);
  }

  /** Returns the entry of the tree, or a copy of it in the tree, which may be changed. */
  #owned(entry: Entry): Entry {
    if (entry.owner === this.#owner) return entry;
    const own = entry.copy(this.#owner);
    this.#tree.replace(own);
    return own;
  }

  /** The latest revision. */
  get revision(): Revision {
    return this.#revision;
  }

  /**
   * The oldest revision that can be read, and after which a watch can begin, under every prefix. Under
   * some it may be an older one.
   */
  get compactedRevision(): Revision {
    return this.#compacted;
  }

  /** The number of keys that exist, or existed at a readable revision. */
  get size(): number {
    return this.#tree.size;
  }

  /** The number of revisions in the history. */
  get historyLength(): number {
    return this.#log.length;
  }

  /** The number of bytes of values that only the history keeps. */
  get historyBytes(): number {
    return this.#historyBytes;
  }

  get(key: string): KeyValue | undefined {
    return this.#tree.get(key)?.latest;
  }

  getAt(key: string, revision: Revision): KeyValue | undefined {
    this.#checkReadable(revision, directoryOf(key));
    return this.#tree.get(key)?.at(revision);
  }

  /** Returns the current value of every key, in order of key. */
  all(): KeyValue[] {
    const items: KeyValue[] = [];
    this.#tree.scan('', LAST_KEY, (entry) => {
      if (entry.latest !== undefined) items.push(entry.latest);
      return true;
    });
    return items;
  }

  count(prefix: string): number {
    return this.#tree.countBefore(endOfPrefix(prefix)) - this.#tree.countBefore(prefix);
  }

  /** Returns the current value of every key under the prefix, in order of key. */
  under(prefix: string): KeyValue[] {
    const items: KeyValue[] = [];
    if (!this.#directories.has(prefix)) return items;
    this.#tree.scanFrom(prefix, ({ key, latest }) => {
      if (!key.startsWith(prefix)) return false;
      if (latest !== undefined) items.push(latest);
      return true;
    });
    return items;
  }

  list(prefix: string, options: ListOptions = {}): ListResult {
    const revision = options.revision || this.#revision;
    this.#checkReadable(revision, prefix);
    const limit = options.limit || Number.POSITIVE_INFINITY;
    const after = options.startAfter === undefined ? prefix : successor(options.startAfter);
    const from = lessFor(prefix)(after, prefix) ? prefix : after;
    const items: KeyValue[] = [];
    const latest = revision === this.#revision;
    let more = false;
    this.#tree.scan(from, endOfPrefix(prefix), (entry) => {
      const kv = latest ? entry.latest : entry.at(revision);
      if (kv === undefined) return true;
      more = items.length >= limit;
      if (more) return false;
      items.push(kv);
      return true;
    });
    const last = items.at(-1);
    const remaining = more && last !== undefined ? this.#countAfter(last.key, prefix, revision) : 0;
    return { items, revision, remaining };
  }

  /** Adds an index. `yieldTurn`: see KeyIndexConfig. */
  addIndex({ prefix, valueOf }: IndexDefinition, yieldTurn: () => Promise<void>): KeyIndex {
    const index = new KeyIndex({
      prefix,
      valueOf,
      scan: (startAfter, limit) => this.list(prefix, { startAfter, limit }).items,
      revision: () => this.#revision,
      yieldTurn,
    });
    this.#indexes.push(index);
    return index;
  }

  /** Removes the index. Idempotent. */
  removeIndex(index: KeyIndex): void {
    this.#indexes = this.#indexes.filter((each) => each !== index);
  }

  /**
   * Returns the keys with the value in the index, which must be built and reach back to the
   * revision.
   */
  listIndexed(
    index: KeyIndex,
    value: string,
    query: KeyQuery & { readonly revision: Revision },
  ): IndexListResult {
    const { revision } = query;
    this.#checkReadable(revision, query.within);
    const latest = revision === this.#revision;
    const { keys, more, isCertain } = index.keys(
      value,
      latest ? { ...query, revision: undefined } : query,
    );
    const items: KeyValue[] = [];
    for (const key of keys) {
      const entry = this.#tree.get(key);
      const kv = latest ? entry?.latest : entry?.at(revision);
      if (kv === undefined)
        throw new Error(
          `mvcc: an index has ${key} at revision ${revision}, where it does not exist`,
        );
      items.push(kv);
    }
    return isCertain ? { items, revision, more, isCertain } : { items, revision, more };
  }

  /** Returns the state to write, in the form in which the store keeps it. */
  hold(kv: KeyValue): KeyValue {
    return this.#packing.hold(kv);
  }

  /** Returns the state that a patch makes of another one, in the form in which the store keeps it. */
  patched(current: KeyValue, patch: ValuePatch, revision: Revision): KeyValue {
    return this.#packing.patch(current, patch, revision);
  }

  /** Keeps the value of a write of some time ago in less memory. Called after each write. */
  settle(): void {
    const event = this.#log.at(this.#log.length - 1 - PLAIN_WRITES);
    if (event?.type === 'put') this.#packing.pack(event.kv);
  }

  /**
   * Makes the next write. An undefined `kv` deletes the key, which must exist; otherwise
   * `kv.modRevision` must be the next revision. Returns the event to publish.
   */
  apply(key: string, kv: KeyValue | undefined): ChangeEvent {
    const revision = this.#revision + 1;
    const present = this.#tree.get(key);
    const entry = present && this.#owned(present);
    const previous = entry?.latest;
    let event: ChangeEvent;
    if (kv === undefined) {
      if (entry === undefined || previous === undefined)
        throw new Error(`mvcc: revision ${revision} deletes ${key}, which does not exist`);
      entry.push(previous);
      entry.push({ modRevision: revision });
      entry.latest = undefined;
      this.#tree.recount(key, -1);
      event = { type: 'delete', revision, key, previous };
    } else {
      if (kv.modRevision !== revision)
        throw new Error(`mvcc: a write of revision ${kv.modRevision} where ${revision} is next`);
      if (entry === undefined) {
        const created = new Entry(this.#owner, key);
        created.latest = kv;
        this.#tree.insert(created);
        this.#directories.add(key);
      } else {
        if (previous !== undefined) entry.push(previous);
        entry.latest = kv;
        if (previous === undefined) this.#tree.recount(key, 1);
      }
      event =
        previous === undefined
          ? { type: 'put', revision, kv }
          : { type: 'put', revision, kv, previous };
    }
    for (const index of this.#indexes) index.apply(key, kv, revision);
    this.#revision = revision;
    this.#log.push(event);
    if (previous !== undefined) this.#historyBytes += sizeOf(previous);
    return event;
  }

  /**
   * Moves on to a later revision without history. `latest` has the last writes of the keys that were
   * written since, in order of revision.
   */
  passOver(revision: Revision, latest: readonly KeyValue[]): void {
    this.compact(this.#revision);
    for (const kv of latest) {
      const entry = this.#tree.get(kv.key);
      if (entry?.latest === undefined)
        throw new Error(`mvcc: revision ${kv.modRevision} changes ${kv.key}, which does not exist`);
      this.#owned(entry).latest = kv;
      for (const index of this.#indexes) index.apply(kv.key, kv, kv.modRevision);
    }
    this.#revision = revision;
    this.#compacted = revision;
    this.#expired = revision;
    for (const index of this.#indexes) index.compact(revision);
  }

  /**
   * Adds a version that was written before the compaction revision. Must be called before any
   * `apply`, in ascending order of revision. Returns the revisions of the versions that are now
   * obsolete (including this one if it is a deletion), in an order in which they can be deleted one
   * by one.
   */
  restore(key: string, revision: Revision, kv: KeyValue | undefined): Revision[] {
    if (revision > this.#compacted || this.#log.length > 0)
      throw new Error(`mvcc: revision ${revision} is not history, and cannot be restored`);
    const entry = this.#tree.get(key);
    const obsolete: Revision[] = [];
    if (entry?.latest !== undefined) obsolete.push(entry.latest.modRevision);
    if (kv === undefined) {
      obsolete.push(revision);
      if (entry !== undefined) this.#forget(key);
    } else if (entry === undefined) {
      const restored = new Entry(this.#owner, key);
      restored.latest = this.#packing.holdRestored(kv);
      this.#tree.insert(restored);
      this.#directories.add(key);
    } else entry.latest = this.#packing.holdRestored(kv);
    return obsolete;
  }

  /**
   * Returns the events under the prefix after a revision, which must be readable or in the future.
   */
  eventsAfter(revision: Revision, prefix: string): ChangeEvent[] {
    const oldest = this.#oldestReadable(prefix);
    if (revision < oldest) throw expired(revision, oldest);
    const events: ChangeEvent[] = [];
    for (let i = this.#placeAfter(revision); i < this.#log.length; i++) {
      const event = this.#log.at(i) as ChangeEvent;
      if (keyOf(event).startsWith(prefix)) events.push(event);
    }
    return events;
  }

  /**
   * Forgets the history before `revision`. Reads and watches from between `expired` and `revision`
   * still succeed under prefixes of which no event is forgotten. Returns the revisions of the dropped
   * versions in an order in which they can be deleted from disk one by one: an older version of a key
   * always comes before the version that replaced it.
   */
  compact(revision: Revision, expired: Revision = revision): Revision[] {
    if (revision > this.#revision) throw this.#future(revision);
    const dropped: Revision[] = [];
    const before = this.#compacted;
    this.#compacted = Math.max(before, revision);
    this.#expired = Math.max(this.#expired, Math.min(expired, this.#compacted));
    if (revision <= before) return dropped;
    const count = revision - before;
    const forgotten = new Map<string, Revision>();
    for (let i = 0; i < count; i++) {
      const event = this.#log.at(i) as ChangeEvent;
      forgotten.set(directoryOf(keyOf(event)), event.revision);
      if (event.type === 'put') this.#pack(event.kv);
      if (event.previous === undefined) continue;
      dropped.push(event.previous.modRevision);
      if (event.type === 'delete') dropped.push(event.revision);
      this.#historyBytes -= sizeOf(event.previous);
      this.#trim(keyOf(event), revision);
    }
    this.#log.dropFirst(count);
    this.#directories.forget(forgotten);
    for (const index of this.#indexes) index.compact(revision);
    return dropped;
  }

  /** Returns the revision to compact to so that the history stays within both limits. */
  revisionKeeping(maxRevisions: number, maxBytes: number): Revision {
    let drop = Math.max(0, this.#log.length - maxRevisions);
    let bytes = this.#historyBytes;
    for (let i = 0; i < this.#log.length && (i < drop || bytes > maxBytes); i++) {
      const previous = this.#log.at(i)?.previous;
      if (previous !== undefined) bytes -= sizeOf(previous);
      drop = Math.max(drop, i + 1);
    }
    return this.#compacted + drop;
  }

  /** Drops the versions of the key that are not visible at `revision` or later. */
  #trim(key: string, revision: Revision): void {
    const entry = this.#tree.get(key);
    const past = entry?.past;
    if (entry === undefined || past === undefined) return;
    let drop = 0;
    while (
      drop < past.length &&
      (past[drop + 1] ?? entry.latest ?? { modRevision: Number.POSITIVE_INFINITY }).modRevision <=
        revision
    )
      drop++;
    // A tombstone is not needed after everything before it is forgotten.
    const first = past[drop];
    if (first !== undefined && isTombstone(first) && first.modRevision <= revision) drop++;
    if (drop === 0) return;
    const own = this.#owned(entry);
    if (drop === past.length) own.past = undefined;
    else own.past!.splice(0, drop);
    if (own.past === undefined && own.latest === undefined) this.#forget(key);
  }

  /** Packs a state that history does not need any more, if it is still the latest one of its key. */
  #pack(kv: KeyValue): void {
    if (this.#tree.get(kv.key)?.latest === kv) this.#packing.pack(kv);
  }

  #forget(key: string): void {
    this.#tree.delete(key);
    this.#directories.delete(key);
  }

  /** Returns the number of keys under the prefix after this key, at the revision. */
  #countAfter(key: string, prefix: string, revision: Revision): number {
    const from = successor(key);
    const less = lessFor(from);
    const now = this.#tree.countBefore(endOfPrefix(prefix)) - this.#tree.countBefore(from);
    const eventsSince = this.#revision - revision;
    let count = 0;
    if (eventsSince <= now) {
      // Reverting the creations and deletions since then is cheaper than visiting the keys.
      count = now;
      for (let i = this.#placeAfter(revision); i < this.#log.length; i++) {
        const event = this.#log.at(i) as ChangeEvent;
        const change = event.type === 'delete' ? 1 : event.previous === undefined ? -1 : 0;
        if (change !== 0 && keyOf(event).startsWith(prefix) && !less(keyOf(event), from))
          count += change;
      }
      return count;
    }
    this.#tree.scan(from, endOfPrefix(prefix), (entry) => {
      if (entry.at(revision) !== undefined) count++;
      return true;
    });
    return count;
  }

  /** Returns the place in the log of the first event after the revision. */
  #placeAfter(revision: Revision): number {
    return Math.max(0, revision - this.#compacted);
  }

  /** `prefix`: of what is read, which ends in '/'; '' for everything. */
  #checkReadable(revision: Revision, prefix: string): void {
    if (!Number.isSafeInteger(revision) || revision < 1)
      throw new TypeError(`storage: ${revision} is not a revision`);
    if (revision > this.#revision) throw this.#future(revision);
    if (revision >= this.#compacted) return;
    const oldest = this.#oldestReadable(prefix);
    if (revision < oldest) throw expired(revision, oldest);
  }

  #oldestReadable(prefix: string): Revision {
    const forgotten = Math.min(this.#compacted, this.#directories.lastForgotten(prefix));
    return prefix === '' ? this.#compacted : Math.max(this.#expired, forgotten);
  }

  #future(revision: Revision): StorageError {
    return new StorageError(
      'FutureRevision',
      `revision ${revision} has not been reached: the current one is ${this.#revision}`,
      {
        revision: this.#revision,
      },
    );
  }
}

function expired(revision: Revision, oldest: Revision): StorageError {
  return new StorageError(
    'Expired',
    `revision ${revision} has been compacted: the oldest that can be read is ${oldest}`,
    { revision: oldest },
  );
}

function withoutLast(versions: Version[] | undefined): Version[] | undefined {
  return versions === undefined || versions.length < 2 ? undefined : versions.slice(0, -1);
}

export function keyOf(event: ChangeEvent): string {
  return event.type === 'put' ? event.kv.key : event.key;
}
