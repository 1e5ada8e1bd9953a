// Objects of an informer, some of them as they are going to be: what was decided about them and is
// not written yet.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';

export interface AssumeCacheConfig<T extends KubeObject> {
  readonly informer: SharedInformer<T>;
  /** Aborts when the cache is needed no more. */
  readonly ended: AbortSignal;
}

/** An event of the API server replaces an assumed object, unless that has a later version. */
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

  /** As assumed, if it is. */
  get(key: string): T | undefined {
    return this.#assumed.get(key) ?? this.#informer.lister.getByKey(key);
  }

  /** As the API server has it. */
  getSeen(key: string): T | undefined {
    return this.#informer.lister.getByKey(key);
  }

  /**
   * Returns objects of an index of the informer. An assumed object is found under its former
   * values.
   */
  byIndex(index: string, value: string): T[] {
    const objects = this.#informer.lister.byIndex(index, value);
    return this.#assumed.size === 0
      ? objects
      : objects.map((object) => this.#assumed.get(objectKey(object)) ?? object);
  }

  /**
   * False if the object is another version by now than the one that was changed: it has to be
   * decided anew.
   */
  assume(object: T): boolean {
    const key = objectKey(object);
    if (this.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) return false;
    this.#assumed.set(key, object);
    return true;
  }

  /**
   * The API server has answered this version of the object, which the informer may not have seen
   * yet.
   */
  assumeWritten(object: T): void {
    const key = objectKey(object);
    const seen = this.getSeen(key);
    // Not seen at all, it is gone again.
    if (seen !== undefined && isOlder(seen, object)) this.#assumed.set(key, object);
  }

  /** The object is as the API server has it, after all. */
  restore(key: string): void {
    this.#assumed.delete(key);
  }

  /** Calls `tell` once, at the next change of the object, unless `forget` comes before. */
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

/**
 * Whether `a` is the older version of one object. Versions are the revisions in which they were
 * written.
 */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [first, second] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return first.length === second.length ? first < second : first.length < second.length;
}
