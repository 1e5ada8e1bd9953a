import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
// The objects of an informer, by key and by index.

/** Returns the values of one index for an object; [] leaves it out of the index. */
export type IndexFunction<T> = (object: T) => readonly string[];
export type Indexers<T> = Readonly<Record<string, IndexFunction<T>>>;

/** The name of the index of `list(namespace)`, which exists from its first call on. */
const BY_NAMESPACE = 'namespace';
const byNamespace = (object: KubeObject): readonly string[] => [object.metadata.namespace ?? ''];

/**
 * Read access to the objects of an informer. They have the state of the last received event, and
 * may be behind the API server.
 */
export interface Lister<T extends KubeObject> {
  /** Returns an object. `namespace` is '' for cluster-scoped objects. */
  get(namespace: string, name: string): T | undefined;
  /** Returns an object by the result of `objectKey`. */
  getByKey(key: string): T | undefined;
  /**
   * Returns all objects, or those of one namespace, in no particular order. A new array each time.
   */
  list(namespace?: string): T[];
  /** Returns the objects with `value` in this index. An unknown index is a programming error. */
  byIndex(index: string, value: string): T[];
  keys(): IterableIterator<string>;
  readonly size: number;
}

/** Returns 'namespace/name', or 'name' for cluster-scoped objects: the keys of work queues. */
export function objectKey(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace ? `${namespace}/${name}` : (name ?? '');
}

/** Returns the namespace and name of a key: the inverse of `objectKey`. */
export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0
    ? { namespace: '', name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export class Store<T extends KubeObject> implements Lister<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexers = new Map<string, IndexFunction<T>>();
  /** Index name → value → the objects by key. There are no empty inner maps. */
  readonly #indices = new Map<string, Map<string, Map<string, T>>>();

  constructor(indexers: Indexers<T> = {}) {
    this.addIndexers(indexers);
  }

  /**
   * Adds indexers, also while the store has objects. Another function with an existing name is a
   * programming error.
   */
  addIndexers(indexers: Indexers<T>): void {
    for (const [name, index] of Object.entries(indexers)) this.#addIndexer(name, index);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(namespace === '' ? name : `${namespace}/${name}`);
  }

  getByKey(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(namespace?: string): T[] {
    if (namespace === undefined) return [...this.#objects.values()];
    this.#addIndexer(BY_NAMESPACE, byNamespace);
    return this.byIndex(BY_NAMESPACE, namespace);
  }

  byIndex(index: string, value: string): T[] {
    const byValue = this.#indices.get(index);
    if (byValue === undefined)
      throw new Error(`index ${index} does not exist: add it with addIndexers`);
    const objects = byValue.get(value);
    return objects === undefined ? [] : [...objects.values()];
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** Stores the object. Returns the previous one. */
  put(object: T): T | undefined {
    const key = objectKey(object);
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const [name, index] of this.#indexers) this.#reindex(name, index, key, previous, object);
    return previous;
  }

  /** Deletes the object. Returns it. */
  delete(key: string): T | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) return undefined;
    this.#objects.delete(key);
    for (const [name, index] of this.#indexers)
      this.#reindex(name, index, key, previous, undefined);
    return previous;
  }

  /** Returns the function of an index. An unknown index is a programming error. */
  indexer(name: string): IndexFunction<T> {
    const index = this.#indexers.get(name);
    if (index === undefined)
      throw new Error(`index ${name} does not exist: add it with addIndexers`);
    return index;
  }

  #addIndexer(name: string, index: IndexFunction<T>): void {
    const present = this.#indexers.get(name);
    if (present === index) return;
    if (present !== undefined)
      throw new Error(`index ${name} already exists with another function`);
    this.#indexers.set(name, index);
    this.#indices.set(name, new Map());
    for (const [key, object] of this.#objects) this.#reindex(name, index, key, undefined, object);
  }

  #reindex(
    name: string,
    index: IndexFunction<T>,
    key: string,
    before: T | undefined,
    after: T | undefined,
  ): void {
    const byValue = this.#indices.get(name)!;
    const oldValues = before === undefined ? [] : index(before);
    const newValues = after === undefined ? [] : index(after);
    for (const value of oldValues) {
      if (newValues.includes(value)) continue;
      const objects = byValue.get(value);
      objects?.delete(key);
      if (objects?.size === 0) byValue.delete(value);
    }
    if (after === undefined) return;
    for (const value of newValues) {
      const objects = byValue.get(value);
      if (objects === undefined) byValue.set(value, new Map([[key, after]]));
      else objects.set(key, after);
    }
  }
}
