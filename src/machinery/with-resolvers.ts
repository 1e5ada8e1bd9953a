export interface Resolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Returns a promise with its functions, as Promise.withResolvers, which the oldest supported
 * version of Node.js lacks.
 */
export function withResolvers<T = void>(): Resolvers<T> {
  let resolve: Resolvers<T>['resolve'] | undefined;
  let reject: Resolvers<T>['reject'] | undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  if (resolve === undefined || reject === undefined)
    throw new Error('a promise did not call its executor');
  return { promise, resolve, reject };
}
