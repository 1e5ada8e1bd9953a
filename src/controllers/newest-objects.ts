// The newest version of each object: from an informer, or from the controller's own later writes.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';

/**
 * Called synchronously and in order. `before` is undefined for a new object, `after` for a deleted
 * one.
 */
export type OnChange<T> = (before: T | undefined, after: T | undefined) => void;

export class NewestObjects<T extends KubeObject> {
  readonly #informer: SharedInformer<T>;
  readonly #objects = new Map<string, T>();
  readonly #onChange: OnChange<T>;

  /** `onChange`: called once with every version, including own writes. */
  constructor(informer: SharedInformer<T>, onChange: OnChange<T>) {
    this.#informer = informer;
    this.#onChange = onChange;
    const saw = (object: T): void => this.#take(objectKey(object), object);
    informer.addEventHandler({
      onAdd: saw,
      onUpdate: (_, object) => saw(object),
      onDelete: (object) => {
        const key = objectKey(object);
        const known = this.#objects.get(key);
        this.#objects.delete(key);
        this.#onChange(known ?? object, undefined);
      },
    });
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Records a write. `object`: from the server's response. */
  wrote(object: T): void {
    const key = objectKey(object);
    // Objects that were deleted or replaced meanwhile are not restored.
    if (this.#informer.lister.getByKey(key)?.metadata.uid === object.metadata.uid)
      this.#take(key, object);
  }

  #take(key: string, object: T): void {
    const known = this.#objects.get(key);
    if (
      known !== undefined &&
      Number(known.metadata.resourceVersion) >= Number(object.metadata.resourceVersion)
    )
      return;
    this.#objects.set(key, object);
    this.#onChange(known, object);
  }
}
