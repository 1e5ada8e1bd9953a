// Stores with one fault each, to see that the proof would notice: a store that is wrong now and then must be caught.

import type { Random } from '../../src/machinery/random.ts';
import type { WatchStream } from '../../src/machinery/watch.ts';
import { WatchQueue } from '../../src/machinery/watch.ts';
import type {
  GetOptions,
  KeyValue,
  ListOptions,
  ListResult,
  Storage,
  StorageEvent,
  UpdateDecision,
  UpdateResult,
  WatchOptions,
} from '../../src/storage/interface.ts';

export const MUTANTS = ['lost update', 'stale read', 'stale list', 'skipped event', 'reordered events', 'doubled event'] as const;
export type Mutant = (typeof MUTANTS)[number];

/** One of so many operations, or events, is wrong. */
const RATE = 6;

export class MutantStorage implements Storage {
  readonly #storage: Storage;
  readonly #mutant: Mutant;
  readonly #random: Random;

  constructor(storage: Storage, mutant: Mutant, random: Random) {
    this.#storage = storage;
    this.#mutant = mutant;
    this.#random = random;
  }

  async get(key: string, options?: GetOptions): Promise<KeyValue | undefined> {
    if (this.#strikes('stale read')) return await this.#storage.get(key, { revision: await this.#earlier() });
    return await this.#storage.get(key, options);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    if (this.#strikes('stale list')) return await this.#storage.list(prefix, { revision: await this.#earlier() });
    return await this.#storage.list(prefix, options);
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options?: { readonly guess?: KeyValue },
  ): Promise<UpdateResult> {
    if (!this.#strikes('lost update')) return await this.#storage.guaranteedUpdate(key, update, options);
    // Reads, decides, takes its time, and writes without another look.
    const seen = await this.#storage.get(key);
    const decision = await update(seen);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    return await this.#storage.guaranteedUpdate(key, () => decision);
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

  count(prefix: string): Promise<number> {
    return this.#storage.count(prefix);
  }
  create(key: string, value: Uint8Array, options?: { readonly ttlMs?: number }): Promise<KeyValue> {
    return this.#storage.create(key, value, options);
  }
  delete(key: string, options?: { readonly expectedRevision?: number }): ReturnType<Storage['delete']> {
    return this.#storage.delete(key, options);
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
  close(): Promise<void> {
    return this.#storage.close();
  }
}
