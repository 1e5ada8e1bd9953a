// A watch whose events are kept until they are asked for, each a row with the time at which it
// came.

import type { WatchEvent } from '#client/transport.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { formatRows, selectColumns, type Table } from './table.ts';

export interface TableWatchConfig {
  readonly events: WatchStream<WatchEvent<Table>>;
  readonly clock: VirtualClock;
  /** Default: those that kubectl shows. */
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

  /** What has happened since this was called last; '' if nothing has. */
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
      // Only the first event tells the columns.
      indexes ??= selectColumns(table, { columns }).indexes;
      const time = new Date(clock.now()).toISOString().slice(11, 19);
      for (const { cells } of table.rows)
        this.#rows.push([time, type, ...indexes.map((index) => String(cells[index] ?? ''))]);
    }
  }
}
