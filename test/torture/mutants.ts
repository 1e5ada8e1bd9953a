// Stores with one fault each, to test the tests: they must notice a store that is sometimes wrong.

import type { Random } from '#machinery/random.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import {
  type GetOptions,
  type IndexDefinition,
  type KeyValue,
  type ListOptions,
  type ListResult,
  type Storage,
  StorageError,
  type StorageEvent,
  type StorageIndex,
  type UpdateDecision,
  type UpdateResult,
  type WatchOptions,
} from '#storage/interface.ts';

export const MUTANTS = [
  'lost update',
  'stale read',
  'stale list',
  'skipped event',
  'reordered events',
  'doubled event',
  // The client repeats a transaction whose answer is missing, without reading its outcome. The
  // first transaction was carried out, or is carried out after the second one.
  'blind retry',
  'blind retry that is overtaken',
] as const;
export type Mutant = (typeof MUTANTS)[number];

/** One in this many operations, or events, is wrong. */
const RATE = 6;
/** The limit of turns of the event loop after which an overtaken transaction arrives. */
const LATE_TURNS = 200;

export class MutantStorage implements Storage {
  readonly #storage: Storage;
  readonly #mutant: Mutant;
  readonly #random: Random;
  /** Transactions whose callers have stopped waiting. */
  readonly #late = new Set<Promise<unknown>>();

  constructor(storage: Storage, mutant: Mutant, random: Random) {
    this.#storage = storage;
    this.#mutant = mutant;
    this.#random = random;
  }

  async get(key: string, options?: GetOptions): Promise<KeyValue | undefined> {
    if (this.#strikes('stale read'))
      return await this.#storage.get(key, { revision: await this.#earlier() });
    return await this.#storage.get(key, options);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    if (this.#strikes('stale list'))
      return await this.#storage.list(prefix, { revision: await this.#earlier() });
    return await this.#storage.list(prefix, options);
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options?: { readonly guess?: KeyValue },
  ): Promise<UpdateResult> {
    if (this.#strikes('blind retry')) {
      await this.#storage.guaranteedUpdate(key, update, options);
      // The condition does not hold any more, which is taken for a write of another client: read
      // again, decide again.
      return await this.#storage.guaranteedUpdate(key, update);
    }
    if (!this.#strikes('lost update'))
      return await this.#storage.guaranteedUpdate(key, update, options);
    // The fault: reads, decides, waits, and writes without another read.
    const seen = await this.#storage.get(key);
    const decision = await update(seen);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    return await this.#storage.guaranteedUpdate(key, () => decision);
  }

  async create(
    key: string,
    value: Uint8Array,
    options?: { readonly ttlMs?: number },
  ): Promise<KeyValue> {
    if (this.#strikes('blind retry')) await this.#storage.create(key, value, options);
    const kv = await this.#storage.create(key, value, options);
    if (this.#strikes('blind retry that is overtaken')) {
      const late = this.#createLate(key, value);
      this.#late.add(late);
      void late.finally(() => this.#late.delete(late));
    }
    return kv;
  }

  async delete(
    key: string,
    options?: { readonly expectedRevision?: number },
  ): ReturnType<Storage['delete']> {
    if (this.#strikes('blind retry')) await this.#storage.delete(key, options);
    return await this.#storage.delete(key, options);
  }

  /**
   * Creates the key at the worst moment: right after a deletion, if there is one in time. No caller
   * learns the outcome.
   */
  async #createLate(key: string, value: Uint8Array): Promise<void> {
    for (let i = 0; i < LATE_TURNS; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      try {
        await this.#storage.create(key, value);
        return;
      } catch (error) {
        if (!(error instanceof StorageError) || error.reason !== 'KeyExists') throw error;
      }
    }
  }

  watch(prefix: string, options?: WatchOptions): WatchStream<StorageEvent> {
    const source = this.#storage.watch(prefix, options);
    const changed = new WatchQueue<StorageEvent>({ onStop: () => source.stop() });
    void this.#pass(source, changed);
    return changed;
  }

  async #pass(source: WatchStream<StorageEvent>, changed: WatchQueue<StorageEvent>): Promise<void> {
    let held: StorageEvent | undefined;
    try {
      for await (const event of source) {
        if (this.#strikes('skipped event')) continue;
        if (this.#strikes('doubled event')) changed.push(event);
        if (held === undefined && this.#strikes('reordered events')) {
          held = event;
          continue;
        }
        changed.push(event);
        if (held !== undefined) changed.push(held);
        held = undefined;
      }
    } catch (error) {
      changed.fail(error);
    }
  }

  async #earlier(): Promise<number> {
    return Math.max(1, (await this.#storage.currentRevision()) - 1 - this.#random.int(20));
  }

  #strikes(mutant: Mutant): boolean {
    return mutant === this.#mutant && this.#random.int(RATE) === 0;
  }

  addIndex(definition: IndexDefinition): StorageIndex {
    return this.#storage.addIndex(definition);
  }
  count(prefix: string): Promise<number> {
    return this.#storage.count(prefix);
  }
  compact(revision: number): Promise<void> {
    return this.#storage.compact(revision);
  }
  currentRevision(): Promise<number> {
    return this.#storage.currentRevision();
  }
  health(): Promise<void> {
    return this.#storage.health();
  }
  async close(): Promise<void> {
    await Promise.all(this.#late);
    await this.#storage.close();
  }
}
