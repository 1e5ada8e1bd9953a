// A value that components follow: the smallest store that React's useSyncExternalStore takes.

export interface Readable<T> {
  get(): T;
  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: () => void): () => void;
}

export class Store<T> implements Readable<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}
