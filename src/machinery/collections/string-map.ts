// Maps of strings in objects: labels, annotations.

type StringMap = Readonly<Record<string, string>>;

/** Both maps in one, `over` winning, the keys in the order in which encoders write them. */
export function mergedMap(under: StringMap | undefined, over: StringMap | undefined): StringMap {
  const entries = Object.entries({ ...under, ...over });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Returns the value of a key that a user has chosen; undefined if the map does not have it. An index into a plain object would
 * find what every object inherits, too: 'constructor', 'toString', '__proto__'.
 */
export function ownValue<T>(
  map: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
