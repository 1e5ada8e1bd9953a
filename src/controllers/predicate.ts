// Which events of watched objects put which keys on the queue of a controller.

/** The keys that an object concerns. */
export type Keys = string | readonly string[] | undefined;

/** Which events put keys on the queue. An event that is left out counts always. */
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
