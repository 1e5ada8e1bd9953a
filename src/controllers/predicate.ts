// Predicates: decide which events of watched objects put keys on a controller's queue.

/** The keys of the owners that an object concerns. */
export type Keys = string | readonly string[] | undefined;

/** Selects the events that put keys on the queue. Absent: every event of that type does. */
export interface Predicate<T> {
  readonly add?: false | ((object: T) => boolean);
  readonly update?: false | ((before: T, object: T) => boolean);
  readonly delete?: false | ((object: T) => boolean);
}

/**
 * Returns the predicate for events of objects that meet the condition; of an update, the new object
 * must meet it.
 */
export function only<T>(condition: (object: T) => boolean): Predicate<T> {
  return { add: condition, update: (_before, object) => condition(object), delete: condition };
}
