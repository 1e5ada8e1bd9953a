// Indexes the watchers of a resource, so that a change is offered only to those that it may
// concern, however many others there are. Watchers of one object, of one namespace and of one value
// of a field are indexed by that.

/**
 * The smallest place that covers everything that a subscriber may see. At most one of name and
 * value is set.
 */
export interface Place {
  /** The namespace; '' for any, and for cluster-scoped resources. */
  readonly namespace: string;
  /** The name; '' for any. */
  readonly name: string;
  /** The value of the indexed field; undefined for any. */
  readonly value: string | undefined;
}

/** The place of a change. */
export interface ChangedPlace {
  readonly namespace: string;
  readonly name: string;
  /**
   * The values of the indexed field before and after the change; empty if the resource has none.
   */
  readonly values: readonly string[];
}

/** Reports whether a change in one place may concern a watcher of another. */
export function concerns({ namespace, name, values }: ChangedPlace, watched: Place): boolean {
  return (
    (watched.namespace === '' || watched.namespace === namespace) &&
    (watched.name === '' || watched.name === name) &&
    (watched.value === undefined || values.includes(watched.value))
  );
}

export class SubscriberIndex<S extends { readonly place: Place }> {
  readonly #everywhere = new Set<S>();
  /** Subscribers by namespace. No set is empty, here and below. */
  readonly #byNamespace = new Map<string, Set<S>>();
  /** Subscribers by namespace ('': any), then by name. No map is empty. */
  readonly #byName = new Map<string, Map<string, Set<S>>>();
  readonly #byValue = new Map<string, Set<S>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(subscriber: S): boolean {
    return this.#setOf(subscriber.place)?.has(subscriber) === true;
  }

  add(subscriber: S): void {
    if (this.has(subscriber)) return;
    this.#size++;
    const { namespace, name, value } = subscriber.place;
    if (name !== '') {
      const names = this.#byName.get(namespace);
      if (names === undefined)
        this.#byName.set(namespace, new Map([[name, new Set([subscriber])]]));
      else addTo(names, name, subscriber);
    } else if (value !== undefined) addTo(this.#byValue, value, subscriber);
    else if (namespace !== '') addTo(this.#byNamespace, namespace, subscriber);
    else this.#everywhere.add(subscriber);
  }

  delete(subscriber: S): void {
    const { namespace, name, value } = subscriber.place;
    const set = this.#setOf(subscriber.place);
    if (set?.delete(subscriber) !== true) return;
    this.#size--;
    if (set.size > 0) return;
    if (name !== '') {
      const names = this.#byName.get(namespace);
      names?.delete(name);
      if (names?.size === 0) this.#byName.delete(namespace);
    } else if (value !== undefined) this.#byValue.delete(value);
    else this.#byNamespace.delete(namespace);
  }

  clear(): void {
    this.#everywhere.clear();
    this.#byNamespace.clear();
    this.#byName.clear();
    this.#byValue.clear();
    this.#size = 0;
  }

  /** Calls the function for each subscriber that the change may concern. */
  forEachConcerned({ namespace, name, values }: ChangedPlace, call: (subscriber: S) => void): void {
    if (this.#everywhere.size > 0) for (const subscriber of this.#everywhere) call(subscriber);
    if (this.#byNamespace.size > 0) this.#byNamespace.get(namespace)?.forEach(call);
    if (this.#byName.size > 0) {
      this.#byName.get('')?.get(name)?.forEach(call);
      if (namespace !== '') this.#byName.get(namespace)?.get(name)?.forEach(call);
    }
    if (this.#byValue.size === 0) return;
    for (const value of values) {
      this.#byValue.get(value)?.forEach((subscriber) => {
        const watched = subscriber.place.namespace;
        if (watched === '' || watched === namespace) call(subscriber);
      });
    }
  }

  *[Symbol.iterator](): Generator<S, undefined> {
    yield* this.#everywhere;
    for (const set of this.#byNamespace.values()) yield* set;
    for (const names of this.#byName.values()) for (const set of names.values()) yield* set;
    for (const set of this.#byValue.values()) yield* set;
  }

  #setOf({ namespace, name, value }: Place): Set<S> | undefined {
    if (name !== '') return this.#byName.get(namespace)?.get(name);
    if (value !== undefined) return this.#byValue.get(value);
    return namespace === '' ? this.#everywhere : this.#byNamespace.get(namespace);
  }
}

function addTo<S>(sets: Map<string, Set<S>>, key: string, subscriber: S): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([subscriber]));
  else set.add(subscriber);
}
