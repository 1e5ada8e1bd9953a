// One object, live: read, then watched. It may vanish while it is shown; the last state stays.

import {
  listWatch,
  type ListDocument,
  type ListWatchConfig,
  type ListWatchState,
} from './list-watch.ts';
import { Store } from '../server/store.ts';
import type { ObjectMetadata } from './table.ts';

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMetadata;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface ObjectSnapshot {
  readonly state: ListWatchState;
  /** The last known state; undefined until the object was read. */
  readonly object?: KubeObject;
  /** The object is deleted, or was never there. */
  readonly missing: boolean;
}

interface ObjectList extends ListDocument {
  readonly items?: readonly KubeObject[];
}

export interface LiveObjectConfig extends Omit<
  ListWatchConfig<ObjectList>,
  'sink' | 'accept' | 'query'
> {
  readonly name: string;
}

/** Follows the object with the name in the collection at `path`. */
export class LiveObject {
  readonly snapshot = new Store<ObjectSnapshot>({ state: { kind: 'loading' }, missing: false });
  readonly #abort = new AbortController();
  #object: KubeObject | undefined;
  #missing = false;
  #seen = false;
  #state: ListWatchState = { kind: 'loading' };

  constructor(config: LiveObjectConfig) {
    const { name } = config;
    void listWatch<ObjectList>(
      {
        ...config,
        query: { fieldSelector: `metadata.name=${name}` },
        sink: {
          begin: () => {
            this.#seen = false;
          },
          page: ({ items }) => {
            for (const item of items ?? []) this.#put(item);
          },
          listed: () => {
            this.#missing = !this.#seen;
            this.#publish();
          },
          events: (events) => {
            for (const { type, object } of events) {
              if (type === 'DELETED') this.#missing = true;
              else this.#put(object as KubeObject);
            }
            this.#publish();
          },
          state: (state) => {
            this.#state = state;
            this.#publish();
          },
        },
      },
      this.#abort.signal,
    );
  }

  close(): void {
    this.#abort.abort();
  }

  #put(object: KubeObject): void {
    this.#seen = true;
    this.#missing = false;
    this.#object = object;
  }

  #publish(): void {
    this.snapshot.set({ state: this.#state, object: this.#object, missing: this.#missing });
  }
}
