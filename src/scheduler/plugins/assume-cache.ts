// Objects of an informer, some of them in an assumed version: a decision about them is not written
// yet.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';

export interface AssumeCacheConfig<T extends KubeObject> {
  readonly informer: SharedInformer<T>;
  /** Aborts when the cache is no longer needed. */
  readonly ended: AbortSignal;
}

/**
 * A cache in which an event replaces an assumed object, unless the assumed one has a later version.
 */
export class AssumeCache<T extends KubeObject> {
  readonly #informer: SharedInformer<T>;
  /** By key. */
  readonly #assumed = new Map<string, T>();
  /** By key: callbacks for the next change. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor({ informer, ended }: AssumeCacheConfig<T>) {
    this.#informer = informer;
    const changed = (object: T, gone = false): void => {
      const key = objectKey(object);
      const assumed = this.#assumed.get(key);
      if (assumed !== undefined && (gone || !isOlder(object, assumed))) this.#assumed.delete(key);
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) return;
      this.#waiting.delete(key);
      for (const tell of waiting) tell();
    };
    const registration = informer.addEventHandler({
      onAdd: (object) => changed(object),
      onUpdate: (_, object) => changed(object),
      onDelete: (object) => changed(object, true),
    });
    ended.addEventListener('abort', () => registration.remove(), { once: true });
  }

  /** Returns the object, in its assumed version if there is one. */
  get(key: string): T | undefined {
    return this.#assumed.get(key) ?? this.#informer.lister.getByKey(key);
  }

  /** Returns the object as the API server has it. */
  getSeen(key: string): T | undefined {
    return this.#informer.lister.getByKey(key);
  }

  /**
   * Returns objects of an index of the informer. An assumed object is indexed by its former values.
   */
  byIndex(index: string, value: string): T[] {
    const objects = this.#informer.lister.byIndex(index, value);
    return this.#assumed.size === 0
      ? objects
      : objects.map((object) => this.#assumed.get(objectKey(object)) ?? object);
  }

  /**
   * Assumes a version. Returns false if the object has another version by now than the changed one:
   * the decision must be repeated.
   */
  assume(object: T): boolean {
    const key = objectKey(object);
    if (this.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) return false;
    this.#assumed.set(key, object);
    return true;
  }

  /** Assumes a version from a response of the API server, which the informer may not have yet. */
  assumeWritten(object: T): void {
    const key = objectKey(object);
    const seen = this.getSeen(key);
    // If the informer does not have it at all, it is deleted again.
    if (seen !== undefined && isOlder(seen, object)) this.#assumed.set(key, object);
  }

  /** Drops the assumed version. */
  restore(key: string): void {
    this.#assumed.delete(key);
  }

  /** Calls `tell` once, at the next change of the object, unless `forget` is called before. */
  onChange(key: string, tell: () => void): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, new Set([tell]));
    else waiting.add(tell);
  }

  forget(key: string, tell: () => void): void {
    const waiting = this.#waiting.get(key);
    if (waiting?.delete(tell) === true && waiting.size === 0) this.#waiting.delete(key);
  }
}

/** Reports whether `a` is the older version of one object. Versions are revisions. */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [first, second] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return first.length === second.length ? first < second : first.length < second.length;
}
