// Values that may be available without waiting. A function that has its result returns it directly,
// and its caller continues in the same turn. A promise for each step that needs no waiting would
// cost more than the step.

export type Awaitable<T> = T | Promise<T>;

/**
 * Applies `make` to the value: synchronously if the value is available (errors of `make` are then
 * thrown), otherwise when the promise resolves. The name is not `then`, because a module that
 * exports `then` is treated as a promise.
 */
export function andThen<T, R>(value: Awaitable<T>, make: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(make) : make(value);
}
