// Applies what a user has changed to a newer version of the object, field by field: the way out of
// a conflict. Lists are one value, so a list that both have changed is a conflict.

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const same = (a: Json, b: Json): boolean =>
  JSON.stringify(ordered(a)) === JSON.stringify(ordered(b));

/** Returns the value with the keys of its objects in order. */
function ordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, ordered(value[key])]),
  );
}

export interface Rebased<T> {
  readonly value: T;
  /** Fields that both have changed. The value has the user's. */
  readonly conflicts: readonly string[];
}

/** Returns `latest` with the differences between `base` and `mine`. */
export function rebase<T>(base: T, mine: T, latest: T): Rebased<T> {
  const conflicts: string[] = [];
  const value = merge(base, mine, latest, '', conflicts) as T;
  return { value, conflicts };
}

function merge(base: Json, mine: Json, latest: Json, path: string, conflicts: string[]): Json {
  if (same(mine, base) || same(mine, latest)) return latest;
  if (isObject(mine) && isObject(latest) && (isObject(base) || base === undefined)) {
    const result = new Map<string, Json>(Object.entries(latest));
    for (const key of new Set([...Object.keys(base ?? {}), ...Object.keys(mine)])) {
      const merged = merge(
        at(base, key),
        at(mine, key),
        at(latest, key),
        `${path}.${key}`,
        conflicts,
      );
      if (merged === undefined) result.delete(key);
      else result.set(key, merged);
    }
    return Object.fromEntries(result);
  }
  if (!same(latest, base)) conflicts.push(path);
  return mine;
}

const at = (value: Json, key: string): Json =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
