// Handlers of the events of an informer.

/**
 * Called for changes of objects. An error of a handler is a bug in it: it is logged, and the other
 * handlers are called.
 */
export interface EventHandler<T> {
  /** `isInInitialList`: the object existed when the informer started (or the handler was added). */
  onAdd?(object: T, isInInitialList: boolean): void;
  onUpdate?(previous: T, object: T): void;
  /**
   * `lastKnown`: the deletion was missed, and `object` is the last observed state, perhaps not the
   * final one.
   */
  onDelete?(object: T, lastKnown: boolean): void;
}

export interface HandlerRegistration {
  /** Reports whether the handler has been called for everything in the initial list. */
  hasSynced(): boolean;
  /** Removes the handler, which is not called any more. Idempotent. */
  remove(): void;
}
