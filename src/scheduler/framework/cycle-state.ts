// Data that plugins keep about one pod during one scheduling and binding cycle: PreFilter computes
// it, Filter reads it, and so on.

/**
 * Names an entry and its type. Create one per plugin and purpose, at module level: keys are
 * compared by identity.
 */
export interface StateKey<T> {
  readonly name: string;
  /**
   * Returns an independent copy, for evaluating added or removed pods. Absent: T is never changed.
   */
  clone?(value: T): T;
}

export function stateKey<T>(name: string, clone?: (value: T) => T): StateKey<T> {
  return clone === undefined ? { name } : { name, clone };
}

export class CycleState {
  /** Whether the plugins of this cycle are timed individually. */
  timed = false;
  readonly #values: Map<StateKey<unknown>, unknown>;
  /** The key that was read last, since Filter plugins read the same one for each node. */
  #lastKey: StateKey<unknown> | undefined;
  #lastValue: unknown;

  constructor(values: Map<StateKey<unknown>, unknown> = new Map()) {
    this.#values = values;
  }

  /** Returns undefined if nothing was written with this key in this cycle. */
  read<T>(key: StateKey<T>): T | undefined {
    if (key !== this.#lastKey) {
      this.#lastValue = this.#values.get(key);
      this.#lastKey = key;
    }
    return this.#lastValue as T | undefined;
  }

  write<T>(key: StateKey<T>, value: T): void {
    this.#lastKey = undefined;
    this.#values.set(key, value);
  }

  delete<T>(key: StateKey<T>): void {
    this.#lastKey = undefined;
    this.#values.delete(key);
  }

  clone(): CycleState {
    const values = new Map<StateKey<unknown>, unknown>();
    for (const [key, value] of this.#values)
      values.set(key, key.clone === undefined ? value : key.clone(value));
    const copy = new CycleState(values);
    copy.timed = this.timed;
    return copy;
  }
}
