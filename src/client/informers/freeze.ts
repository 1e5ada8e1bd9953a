// The mutation detector: an informer freezes its objects, so that code which modifies a shared object throws at that place. Meant for tests.

/** Freezes a JSON value through and through. Stops at what is frozen already: its inside is then frozen too. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
