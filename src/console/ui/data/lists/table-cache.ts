// Live tables that components share. A table that is no longer shown stays live for a while, so
// that the way back to a list is instant; one of a large collection, too.

import type { Clock, Timer } from '../../browser/clock.ts';
import { LiveTable, type LiveTableConfig } from './live-table.ts';

const KEEP_MS = 20_000;
const LARGE = 5000;

interface Entry {
  readonly table: LiveTable;
  users: number;
  closing?: Timer;
}

export class TableCache {
  readonly #clock: Clock;
  readonly #config: Omit<LiveTableConfig, 'path' | 'query' | 'watch'>;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, config: Omit<LiveTableConfig, 'path' | 'query' | 'watch'>) {
    this.#clock = clock;
    this.#config = config;
  }

  /** Returns the table of a path and a field selector; `release` it with the same ones. */
  acquire(path: string, watch: boolean, fieldSelector = ''): LiveTable {
    const key = keyOf(path, fieldSelector);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#closeLargest();
      const query: Record<string, string> = fieldSelector === '' ? {} : { fieldSelector };
      entry = { table: new LiveTable({ ...this.#config, path, query, watch }), users: 0 };
      this.#entries.set(key, entry);
    }
    entry.users += 1;
    entry.closing?.cancel();
    entry.closing = undefined;
    return entry.table;
  }

  release(path: string, fieldSelector = ''): void {
    const key = keyOf(path, fieldSelector);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.users -= 1;
    // One that has failed is asked again by the next user.
    const keepMs = entry.table.snapshot.get().state.kind === 'failed' ? 0 : KEEP_MS;
    if (entry.users === 0) entry.closing = this.#clock.setTimer(keepMs, () => this.#close(key));
  }

  /** Large tables are not kept beside others: two of the largest would not fit into the tab. */
  #closeLargest(): void {
    for (const [key, { users, table }] of this.#entries)
      if (users === 0 && table.snapshot.get().total > LARGE) this.#close(key);
  }

  /** Ends all tables: another user must not see them. */
  clear(): void {
    for (const key of this.#entries.keys()) this.#close(key);
  }

  #close(key: string): void {
    const entry = this.#entries.get(key);
    entry?.closing?.cancel();
    entry?.table.close();
    this.#entries.delete(key);
  }
}

const keyOf = (path: string, fieldSelector: string): string => `${path}?${fieldSelector}`;
