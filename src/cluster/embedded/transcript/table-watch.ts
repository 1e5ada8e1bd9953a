// A watch that keeps its events until they are read, each as a row with its time.

import type { WatchEvent } from '#client/transport.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { formatRows, selectColumns, type Table } from './table.ts';

export interface TableWatchConfig {
  readonly events: WatchStream<WatchEvent<Table>>;
  readonly clock: VirtualClock;
  /** Default: the columns that kubectl shows. */
  readonly columns: readonly string[] | undefined;
}

export class TableWatch {
  readonly #events: WatchStream<WatchEvent<Table>>;
  #rows: string[][] = [];
  #failure: unknown;

  constructor({ events, clock, columns }: TableWatchConfig) {
    this.#events = events;
    this.#gather(clock, columns).catch((error: unknown) => (this.#failure = error));
  }

  /** Returns the rows since the last call; '' if there are none. */
  take(): string {
    if (this.#failure !== undefined) throw this.#failure;
    const rows = this.#rows;
    this.#rows = [];
    return rows.length === 0 ? '' : formatRows(rows);
  }

  stop(): void {
    this.#events.stop();
  }

  async #gather(clock: VirtualClock, columns: readonly string[] | undefined): Promise<void> {
    let indexes: readonly number[] | undefined;
    for await (const { type, object: table } of this.#events) {
      // Only the first event has the column definitions.
      indexes ??= selectColumns(table, { columns }).indexes;
      const time = new Date(clock.now()).toISOString().slice(11, 19);
      for (const { cells } of table.rows)
        this.#rows.push([time, type, ...indexes.map((index) => String(cells[index] ?? ''))]);
    }
  }
}
