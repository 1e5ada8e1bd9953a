// JSON values in Go's words: what kind of value one is, and how one is printed that has been decoded.

/** As Go's decoder calls a value that does not fit: null, bool, number, string, array or object. */
export function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** map[a:1 b:[x y]]. Keys in order; text as it is; null is <nil>. */
export function goValueText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goValueText).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `map[${entries.map(([key, item]) => `${key}:${goValueText(item)}`).join(' ')}]`;
}
