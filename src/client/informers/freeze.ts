// The mutation detector: an informer freezes its objects, so that code which modifies a shared
// object throws there. For tests.

/**
 * Freezes a JSON value and everything in it. Stops at frozen values, whose content is frozen, too.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
