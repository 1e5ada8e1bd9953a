// A live list of whole objects, for small collections: the events of an object, the pods of a
// workload. Large collections are tables (live-table.ts).

import type { Clock, Timer } from '../../browser/clock.ts';
import {
  listWatch,
  type ListDocument,
  type ListWatchConfig,
  type ListWatchState,
} from './list-watch.ts';
import type { KubeObject } from './live-object.ts';
import { Store } from '../server/store.ts';

export interface ListSnapshot {
  readonly state: ListWatchState;
  readonly items: readonly KubeObject[];
  /** More objects than the limit exist; the rest is not here. */
  readonly truncated: boolean;
}

interface ItemList extends ListDocument {
  readonly items?: readonly KubeObject[];
}

export interface LiveListConfig extends Omit<ListWatchConfig<ItemList>, 'sink'> {
  /** At most this number of objects is kept. */
  readonly limit: number;
}

const PUBLISH_MS = 150;

export class LiveList {
  readonly snapshot = new Store<ListSnapshot>({
    state: { kind: 'loading' },
    items: [],
    truncated: false,
  });
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #items = new Map<string, KubeObject>();
  readonly #limit: number;
  #unseen = new Set<string>();
  #truncated = false;
  #state: ListWatchState = { kind: 'loading' };
  #publishing: Timer | undefined;

  constructor(config: LiveListConfig) {
    this.#clock = config.clock;
    this.#limit = config.limit;
    void listWatch<ItemList>(
      {
        ...config,
        sink: {
          begin: () => {
            this.#unseen = new Set(this.#items.keys());
          },
          page: ({ items }) => {
            for (const item of items ?? []) this.#put(item);
          },
          listed: () => {
            for (const key of this.#unseen) this.#items.delete(key);
            this.#publish();
          },
          events: (events) => {
            for (const { type, object } of events) {
              if (type === 'DELETED') this.#items.delete(keyOf(object as KubeObject));
              else this.#put(object as KubeObject);
            }
            this.#publishing ??= this.#clock.setTimer(PUBLISH_MS, () => this.#publish());
          },
          state: (state) => {
            this.#state = state;
            this.#publishing ??= this.#clock.setTimer(PUBLISH_MS, () => this.#publish());
          },
        },
      },
      this.#abort.signal,
    );
  }

  close(): void {
    this.#abort.abort();
    this.#publishing?.cancel();
  }

  #put(item: KubeObject): void {
    const key = keyOf(item);
    this.#unseen.delete(key);
    if (!this.#items.has(key) && this.#items.size >= this.#limit) {
      this.#truncated = true;
      return;
    }
    this.#items.set(key, item);
  }

  #publish(): void {
    this.#publishing?.cancel();
    this.#publishing = undefined;
    this.snapshot.set({
      state: this.#state,
      items: [...this.#items.values()],
      truncated: this.#truncated,
    });
  }
}

const keyOf = ({ metadata }: KubeObject): string =>
  metadata.uid ?? `${metadata.namespace ?? ''}/${metadata.name}`;
