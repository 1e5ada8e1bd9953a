// An index of the keys under a prefix by a value that is derived from each key's state. So a list
// of the pods of one node visits only these pods. It is purely a data structure, beside a tree of
// the same keys that has the stored values.
//
// The index is built in slices at its first use, while writes go on. From then on each write
// updates it. It also keeps which keys had a value in the past, back to a revision that its owner
// advances (compact), so that the pages of one list can be read at one revision.

import type { KeyValue, Revision } from '../interface.ts';
import { CountedTree } from './counted-tree.ts';
import { compareKeys, endOfPrefix, lessFor, successor } from './key-order.ts';

export interface KeyIndexConfig {
  /** Only keys under this prefix, which ends in '/', are indexed. */
  readonly prefix: string;
  /**
   * See IndexDefinition. A key for which it throws is listed under every value: reading the key
   * then reports the error.
   */
  readonly valueOf: (kv: KeyValue) => string;
  /**
   * Returns the newest state of the keys under the prefix after `startAfter`, in order of key, at
   * most `limit`.
   */
  readonly scan: (startAfter: string | undefined, limit: number) => readonly KeyValue[];
  /** Returns the newest revision. */
  readonly revision: () => Revision;
  /** Resolves in a later turn of the event loop. The index is built in slices, one each turn. */
  readonly yieldTurn: () => Promise<void>;
}

export interface KeyQuery {
  /** Returns only keys under this prefix, which ends in '/'. */
  readonly within: string;
  /** Returns only keys after this one. */
  readonly startAfter?: string;
  /** The maximum number of keys. 0 or absent: all. */
  readonly limit?: number;
  /** The revision of the list, which must not be before `start`. Absent: now. */
  readonly revision?: Revision;
}

/** A key, with the revisions between which it had one value. */
class Member {
  readonly key: string;
  from: Revision;
  /** The revision that ended the current period. Infinity: the key has the value now. */
  to: Revision = Number.POSITIVE_INFINITY;
  /** Earlier periods, oldest first: pairs of `from` and `to`. */
  earlier: Revision[] | undefined;

  constructor(key: string, from: Revision) {
    this.key = key;
    this.from = from;
  }

  had(revision: Revision): boolean {
    if (revision >= this.from) return revision < this.to;
    const { earlier } = this;
    if (earlier === undefined) return false;
    for (let i = 0; i < earlier.length; i += 2) {
      if (revision >= earlier[i]! && revision < earlier[i + 1]!) return true;
    }
    return false;
  }
}

type Members = CountedTree<Member>;

interface Ended {
  readonly value: string | typeof UNREADABLE;
  readonly key: string;
  readonly to: Revision;
}

const UNREADABLE = Symbol('unreadable');
/** The number of keys that are read in one turn of the event loop while the index is built. */
const SLICE = 512;

export class KeyIndex {
  readonly #config: KeyIndexConfig;
  /** The members by value; no tree is empty. */
  readonly #byValue = new Map<string | typeof UNREADABLE, Members>();
  /** The value that each key has now. */
  readonly #values = new Map<string, string | typeof UNREADABLE>();
  /** Ended periods that are still kept, in order of `to`. */
  #ended: Ended[] = [];
  #start: Revision = Number.POSITIVE_INFINITY;
  #building: Promise<void> | undefined;

  constructor(config: KeyIndexConfig) {
    this.#config = config;
  }

  /** The oldest revision at which keys can be listed. Infinity until the index is built. */
  get start(): Revision {
    return this.#start;
  }

  /**
   * Builds the index. Returns undefined if it is built already, else a promise. Rejects with the
   * errors of `scan`; the next call then starts again.
   */
  ready(): Promise<void> | undefined {
    if (this.#start !== Number.POSITIVE_INFINITY) return undefined;
    if (this.#building !== undefined) return this.#building;
    if (this.#addSlice(undefined) === undefined) return undefined;
    const building = this.#build();
    this.#building = building.finally(() => (this.#building = undefined));
    return this.#building;
  }

  /**
   * Records a key's new state, or its deletion (`kv` undefined). Before the index is first used,
   * nothing is recorded.
   */
  apply(key: string, kv: KeyValue | undefined, revision: Revision): void {
    if (this.#start === Number.POSITIVE_INFINITY && this.#building === undefined) return;
    if (!key.startsWith(this.#config.prefix)) return;
    const before = this.#values.get(key);
    const value = kv === undefined ? undefined : this.#valueOf(kv);
    if (before === value) return;
    if (before !== undefined) this.#end(key, before, revision);
    if (value === undefined) this.#values.delete(key);
    else this.#begin(key, value, revision);
  }

  /**
   * Returns the keys with the value, in order of key, and whether there are more than `limit`.
   * `isCertain`: the values of all of them could be read.
   */
  keys(
    value: string,
    query: KeyQuery,
  ): { readonly keys: readonly string[]; readonly more: boolean; readonly isCertain: boolean } {
    const limit = query.limit || Number.POSITIVE_INFINITY;
    const keys = this.#keysOf(value, query, limit + 1);
    const unreadable = this.#keysOf(UNREADABLE, query, limit + 1);
    const isCertain = unreadable.length === 0;
    const all = isCertain ? keys : [...new Set([...keys, ...unreadable])].sort(compareKeys);
    return all.length > limit
      ? { keys: all.slice(0, limit), more: true, isCertain }
      : { keys: all, more: false, isCertain };
  }

  /** Forgets everything before the revision. */
  compact(revision: Revision): void {
    if (this.#start === Number.POSITIVE_INFINITY) return;
    this.#start = Math.max(this.#start, revision);
    let count = 0;
    for (; count < this.#ended.length; count++) {
      const ended = this.#ended[count]!;
      if (ended.to > revision) break;
      this.#forget(ended);
    }
    if (count > 0) this.#ended = this.#ended.slice(count);
  }

  async #build(): Promise<void> {
    try {
      let last = this.#addSlice(undefined);
      while (last !== undefined) {
        await this.#config.yieldTurn();
        last = this.#addSlice(last);
      }
    } catch (error) {
      // Writes do not update an index that is not built, so its content would become stale.
      this.#byValue.clear();
      this.#values.clear();
      this.#ended = [];
      throw error;
    }
  }

  /** Adds the next slice of keys. Returns the last of them; undefined if the index is complete. */
  #addSlice(after: string | undefined): string | undefined {
    const items = this.#config.scan(after, SLICE);
    for (const kv of items)
      if (!this.#values.has(kv.key)) this.#begin(kv.key, this.#valueOf(kv), kv.modRevision);
    if (items.length === SLICE) return items.at(-1)?.key;
    // Keys that were deleted before their slice was read are not in the index, so its past is
    // complete only from now on.
    this.#start = this.#config.revision();
    return undefined;
  }

  #valueOf(kv: KeyValue): string | typeof UNREADABLE {
    try {
      return this.#config.valueOf(kv);
    } catch {
      // Each list that reads the key reports the error.
      return UNREADABLE;
    }
  }

  #begin(key: string, value: string | typeof UNREADABLE, revision: Revision): void {
    this.#values.set(key, value);
    let members = this.#byValue.get(value);
    if (members === undefined)
      this.#byValue.set(value, (members = new CountedTree<Member>(() => false)));
    const member = members.get(key);
    if (member === undefined) {
      members.insert(new Member(key, revision));
      return;
    }
    (member.earlier ??= []).push(member.from, member.to);
    member.from = revision;
    member.to = Number.POSITIVE_INFINITY;
  }

  #end(key: string, value: string | typeof UNREADABLE, revision: Revision): void {
    const member = this.#byValue.get(value)?.get(key);
    if (member === undefined)
      throw new Error(`index: ${key} has a value without being among its keys`);
    member.to = revision;
    this.#ended.push({ value, key, to: revision });
  }

  #forget({ value, key, to }: Ended): void {
    const members = this.#byValue.get(value);
    const member = members?.get(key);
    if (members === undefined || member === undefined)
      throw new Error(`index: ${key} was forgotten before`);
    if (member.earlier !== undefined) {
      if (member.earlier[1] !== to)
        throw new Error(`index: periods of ${key} are forgotten out of order`);
      member.earlier = member.earlier.length === 2 ? undefined : member.earlier.slice(2);
      return;
    }
    members.delete(key);
    if (members.size === 0) this.#byValue.delete(value);
  }

  #keysOf(value: string | typeof UNREADABLE, query: KeyQuery, limit: number): string[] {
    const { within, startAfter, revision } = query;
    const keys: string[] = [];
    const members = this.#byValue.get(value);
    if (members === undefined) return keys;
    const after = startAfter === undefined ? within : successor(startAfter);
    const from = lessFor(within)(after, within) ? within : after;
    members.scan(from, endOfPrefix(within), (member) => {
      const has =
        revision === undefined ? member.to === Number.POSITIVE_INFINITY : member.had(revision);
      if (has) keys.push(member.key);
      return keys.length < limit;
    });
    return keys;
  }
}
