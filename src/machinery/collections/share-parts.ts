// Makes similar JSON values share their equal parts in memory.

/** Deeper parts are not compared. Kubernetes' own kinds have at most a dozen levels. */
const MAX_DEPTH = 32;

/**
 * Returns `model` if both values are equal; otherwise `value`, whose parts are replaced by equal
 * parts of `model`. Both are as JSON.parse returns them, and `value` has no other reader yet.
 */
export function shareParts<T>(model: unknown, value: T, depth = MAX_DEPTH): T {
  // Equal strings are two objects until one is dropped.
  if (model === value) return model as T;
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  if (typeof model !== 'object' || model === null || Array.isArray(model) !== Array.isArray(value))
    return value;
  const [from, to] = [model as Record<string, unknown>, value as Record<string, unknown>];
  let equal = true;
  let keys = 0;
  for (const key in to) {
    keys++;
    // An assignment to this key would set the prototype.
    if (key === '__proto__' || !Object.hasOwn(from, key)) {
      equal = false;
      continue;
    }
    const part = to[key];
    const shared = shareParts(from[key], part, depth - 1);
    if (shared !== part || typeof part === 'string') to[key] = shared;
    if (shared !== from[key]) equal = false;
  }
  if (!equal) return value;
  for (const _key in from) keys--;
  return keys === 0 ? (model as T) : value;
}
