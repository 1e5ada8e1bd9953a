// The mutation detector: with it on, an informer freezes what it holds, so that whoever modifies a shared object fails
// there and then, with a stack that shows who it was. Meant for tests; production does not pay for it.

/** Freezes a JSON value through and through. Stops at what is frozen already: its inside is then frozen too. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
