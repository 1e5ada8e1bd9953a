// Maps of strings in objects: labels and annotations.

type StringMap = Readonly<Record<string, string>>;

/**
 * Returns both maps as one, in the key order of encoders. Values of `over` replace those of
 * `under`.
 */
export function mergedMap(under: StringMap | undefined, over: StringMap | undefined): StringMap {
  const entries = Object.entries({ ...under, ...over });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Returns the value of a key that a user has chosen; undefined if the map does not have it. An
 * index into a plain object would also find inherited members: 'constructor', 'toString',
 * '__proto__'.
 */
export function ownValue<T>(
  map: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
