// The parsed objects of stored states. Several informers of a thread list the same objects: the
// controllers, the scheduler and each kubelet. With this memo they hold one object per state.

export interface StateMemo {
  /**
   * Returns the object of the state with this revision. Calls `parse` if there is none in memory.
   */
  objectOf(revision: number, parse: () => object): object;
  /** Called when a long list begins. Returns a function that is called when it has ended. */
  listBegins(): () => void;
}

/**
 * Has the objects of the lists that are being received, and of those before them until V8 collects the
 * whole heap. A weak reference for each object would be a part of each such collection that nothing
 * else can run beside.
 */
export class ListedStates implements StateMemo {
  /** Empty while no long list is being received. */
  #objects = new Map<number, object>();
  /** The objects then. */
  #former: WeakRef<Map<number, object>> | undefined = new WeakRef(new Map());
  #lists = 0;

  objectOf(revision: number, parse: () => object): object {
    const objects = this.#current();
    const present = objects.get(revision);
    if (present !== undefined) return present;
    const object = parse();
    objects.set(revision, object);
    return object;
  }

  listBegins(): () => void {
    if (this.#lists++ === 0) {
      this.#objects = this.#current();
      this.#former = undefined;
    }
    return () => {
      if (--this.#lists > 0) return;
      this.#former = new WeakRef(this.#objects);
      this.#objects = new Map();
    };
  }

  #current(): Map<number, object> {
    if (this.#former === undefined) return this.#objects;
    const former = this.#former.deref();
    if (former !== undefined) return former;
    const objects = new Map<number, object>();
    this.#former = new WeakRef(objects);
    return objects;
  }
}

/** Parses each object of each list: the plain form. */
export const noStateMemo: StateMemo = {
  objectOf: (_revision, parse) => parse(),
  listBegins: () => () => undefined,
};
