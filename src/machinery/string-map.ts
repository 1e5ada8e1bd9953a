// Maps of strings in objects: labels, annotations.

type StringMap = Readonly<Record<string, string>>;

/** Both maps in one, `over` winning, the keys in the order in which encoders write them. */
export function mergedMap(under: StringMap | undefined, over: StringMap | undefined): StringMap {
  const entries = Object.entries({ ...under, ...over });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
