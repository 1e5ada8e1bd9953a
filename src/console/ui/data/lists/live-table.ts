// A live list: the server's table of a collection as rows, in an order, filtered. Components read
// `snapshot`, which changes at most ten times a second, however many events come.

import type { Clock, Timer } from '../../browser/clock.ts';
import { FilterError, parseFilter } from './filter.ts';
import {
  listWatch,
  type ListWatchConfig,
  type ListWatchState,
  type WatchEvent,
} from './list-watch.ts';
import { type Row, RowFactory } from './row.ts';
import { type RowChange, RowStore } from './row-store.ts';
import { RowView } from './row-view.ts';
import { compareBy, type Sorting } from './sort.ts';
import { Store } from '../server/store.ts';
import { TABLE_ACCEPT, type TableColumn, type TableDocument, type TableRow } from './table.ts';

export interface TableSnapshot {
  readonly columns: readonly TableColumn[];
  /** Read at once: the array may change with the next snapshot. */
  readonly rows: readonly Row[];
  readonly total: number;
  readonly state: ListWatchState;
  /** Why the filter cannot be used; the last valid one stays in force. */
  readonly filterError?: string;
}

/** Returns the rows of tables with the same columns as one. Its state is the worst one. */
export function joinedTables(tables: readonly TableSnapshot[]): TableSnapshot {
  const worst = ['failed', 'retrying', 'loading', 'live'] as const;
  const state = worst
    .map((kind) => tables.find((table) => table.state.kind === kind)?.state)
    .find((each) => each !== undefined) ?? { kind: 'live' };
  return {
    columns: tables.find(({ columns }) => columns.length > 0)?.columns ?? [],
    rows: tables.flatMap(({ rows }) => rows),
    total: tables.reduce((sum, { total }) => sum + total, 0),
    state,
  };
}

export type LiveTableConfig = Omit<ListWatchConfig<TableDocument>, 'sink' | 'accept'>;

const PUBLISH_MS = 100;

export class LiveTable {
  readonly snapshot = new Store<TableSnapshot>({
    columns: [],
    rows: [],
    total: 0,
    state: { kind: 'loading' },
  });
  readonly #clock: Clock;
  readonly #rows = new RowStore();
  readonly #factory = new RowFactory();
  readonly #view = new RowView();
  readonly #abort = new AbortController();
  #columns: readonly TableColumn[] = [];
  #state: ListWatchState = { kind: 'loading' };
  #filter = '';
  #filterError: string | undefined;
  #sorting: Sorting | undefined;
  #publishing: Timer | undefined;

  constructor(config: LiveTableConfig) {
    this.#clock = config.clock;
    void listWatch<TableDocument>(
      {
        ...config,
        accept: TABLE_ACCEPT,
        sink: {
          begin: () => this.#rows.beginList(),
          page: (document) => this.#page(document),
          listed: () => this.#apply(this.#rows.endList()),
          events: (events) => this.#events(events),
          state: (state) => {
            this.#state = state;
            this.#publishSoon();
          },
        },
      },
      this.#abort.signal,
    );
  }

  /** Ends the requests. */
  close(): void {
    this.#abort.abort();
    this.#publishing?.cancel();
  }

  get(uid: string): Row | undefined {
    return this.#rows.get(uid);
  }

  setFilter(text: string): void {
    if (text === this.#filter) return;
    const narrower =
      this.#filterError === undefined && isNarrower(this.#filter, text) && this.#filter !== '';
    this.#filter = text;
    this.#refilter(narrower);
    this.#publish();
  }

  setSorting(sorting: Sorting | undefined): void {
    this.#sorting = sorting;
    this.#view.sort(compareBy(sorting, this.#columns));
    this.#publish();
  }

  #refilter(narrower = false): void {
    try {
      const context = { columns: this.#columns, now: this.#clock.now() };
      this.#view.filter(parseFilter(this.#filter, context), narrower);
      this.#filterError = undefined;
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      this.#filterError = error.message;
    }
  }

  #page({ columnDefinitions, rows }: TableDocument): void {
    const isFirst = this.#view.total === 0;
    this.#setColumns(columnDefinitions ?? []);
    this.#apply(this.#put(rows ?? []));
    // The first rows are shown at once.
    if (isFirst) this.#publish();
  }

  /** Columns change when a custom kind's definition does. */
  #setColumns(columns: readonly TableColumn[]): void {
    if (columns.length === 0 || JSON.stringify(columns) === JSON.stringify(this.#columns)) return;
    this.#columns = columns;
    this.#view.sort(compareBy(this.#sorting, columns));
    this.#refilter();
  }

  #put(rows: readonly TableRow[]): RowChange[] {
    return rows.flatMap((each) => {
      const row = this.#factory.row(each);
      return row === undefined ? [] : [this.#rows.put(row)];
    });
  }

  #events(events: readonly WatchEvent[]): void {
    this.#apply(
      events.flatMap(({ type, object }) => {
        const { columnDefinitions, rows } = object as TableDocument;
        if (columnDefinitions != null) this.#setColumns(columnDefinitions);
        if (type !== 'DELETED') return this.#put(rows ?? []);
        return (rows ?? []).flatMap((each) => {
          const uid = this.#factory.row(each)?.uid;
          const change = uid === undefined ? undefined : this.#rows.delete(uid);
          return change === undefined ? [] : [change];
        });
      }),
    );
  }

  #apply(changes: readonly RowChange[]): void {
    this.#view.apply(changes);
    this.#publishSoon();
  }

  #publishSoon(): void {
    this.#publishing ??= this.#clock.setTimer(PUBLISH_MS, () => this.#publish());
  }

  #publish(): void {
    this.#publishing?.cancel();
    this.#publishing = undefined;
    this.snapshot.set({
      columns: this.#columns,
      rows: this.#view.shown,
      total: this.#view.total,
      state: this.#state,
      filterError: this.#filterError,
    });
  }
}

/** Reports whether a filter that was typed on passes only rows that it has passed before. */
const isNarrower = (before: string, after: string): boolean =>
  after.startsWith(before) && /^[\w.-]+$/.test(after) && !after.startsWith('-');
