// JSON values in Go's terms: the name of a value's type, and the text of a decoded value.

/**
 * Returns the type of a value as Go's decoder names it in errors: null, bool, number, string, array
 * or object.
 */
export function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** Returns map[a:1 b:[x y]] with sorted keys. Text is unquoted; null is <nil>. */
export function goValueText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goValueText).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `map[${entries.map(([key, item]) => `${key}:${goValueText(item)}`).join(' ')}]`;
}
