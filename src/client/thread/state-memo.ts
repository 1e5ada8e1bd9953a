// The parsed objects of stored states. Several informers of a thread list the same objects: the
// controllers, the scheduler and each kubelet. With this memo they hold one object per state.

export interface StateMemo {
  /**
   * Returns the object of the state with this revision. Calls `parse` if there is none in memory.
   */
  objectOf(revision: number, parse: () => object): object;
}

/** Knows the objects of a state as long as a reader holds them. */
export class WeakStateMemo implements StateMemo {
  readonly #objects = new Map<number, WeakRef<object>>();
  readonly #collected = new FinalizationRegistry<number>((state) => {
    // The state may have been parsed again in the meantime.
    if (this.#objects.get(state)?.deref() === undefined) this.#objects.delete(state);
  });

  /** The number of states that are remembered. */
  get size(): number {
    return this.#objects.size;
  }

  objectOf(state: number, parse: () => object): object {
    const present = this.#objects.get(state)?.deref();
    if (present !== undefined) return present;
    const object = parse();
    this.#objects.set(state, new WeakRef(object));
    this.#collected.register(object, state);
    return object;
  }
}

/** Parses each object of each list: the plain form. */
export const noStateMemo: StateMemo = { objectOf: (_state, parse) => parse() };
