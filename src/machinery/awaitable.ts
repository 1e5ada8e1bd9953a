// Values that may be available without waiting. A function that has its result returns it directly, and its caller continues at once: a
// promise for each step that needs no waiting would cost more than the steps.

export type Awaitable<T> = T | Promise<T>;

/**
 * What `make` makes of the value: at once if the value is there, so that what `make` throws is thrown; else as a promise.
 * (Not called `then`: a module that exports that is taken for a promise itself.)
 */
export function andThen<T, R>(value: Awaitable<T>, make: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(make) : make(value);
}
