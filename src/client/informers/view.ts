// Handlers of the objects with one value of an index, such as the pods of one node. A change costs
// the handlers that it concerns, however many others there are.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { EventHandler, HandlerRegistration } from './event-handler.ts';
import type { IndexFunction, Lister } from './store.ts';

/** The part of an informer that readers of some of its objects use. */
export interface InformerView<T extends KubeObject> {
  /** Has the objects of the view, and perhaps others. */
  readonly lister: Lister<T>;
  /** See SharedInformer. The handler is called for the objects of the view alone. */
  addEventHandler(handler: EventHandler<T>): HandlerRegistration;
}

interface Indexed<T> {
  readonly index: IndexFunction<T>;
  /** By value of the index. No set is empty. */
  readonly handlers: Map<string, Set<EventHandler<T>>>;
}

export class ViewHandlers<T> {
  /** By name of the index. */
  readonly #indexed = new Map<string, Indexed<T>>();

  /** Returns a function that removes the handler. */
  add(name: string, index: IndexFunction<T>, value: string, handler: EventHandler<T>): () => void {
    let indexed = this.#indexed.get(name);
    if (indexed === undefined) this.#indexed.set(name, (indexed = { index, handlers: new Map() }));
    const { handlers } = indexed;
    const present = handlers.get(value);
    if (present === undefined) handlers.set(value, new Set([handler]));
    else present.add(handler);
    return () => {
      const set = handlers.get(value);
      if (set?.delete(handler) === true && set.size === 0) handlers.delete(value);
    };
  }

  /**
   * Calls back with each handler that a change concerns. `was`, `is`: whether the object was in the
   * handler's view before, and is in it now. Absent states: the object was added, or is deleted.
   */
  forEachConcerned(
    before: T | undefined,
    after: T | undefined,
    call: (handler: EventHandler<T>, was: boolean, is: boolean) => void,
  ): void {
    for (const { index, handlers } of this.#indexed.values()) {
      if (handlers.size === 0) continue;
      const was = before === undefined ? [] : index(before);
      const is = after === undefined ? [] : index(after);
      for (const value of new Set([...was, ...is]))
        for (const handler of handlers.get(value) ?? [])
          call(handler, was.includes(value), is.includes(value));
    }
  }
}
