// Normalizes values: removes everything that differs between two servers or two runs.

const UNIQUE: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'time',
]);

/**
 * Returns the normalized value, with sorted keys. `text`: removes from a text what the caller
 * expects to differ.
 */
export function normalized(value: unknown, text: (value: string) => string): unknown {
  if (typeof value === 'string') return withoutIdentities(text(value));
  if (Array.isArray(value)) return value.map((item) => normalized(item, text));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    if (key === 'token' && typeof item === 'string' && item.length > 100) return [key, 'TOKEN'];
    if (
      UNIQUE.has(key) &&
      typeof item === 'string' &&
      item !== '' &&
      (key !== 'uid' || item.length === 36)
    )
      return [key, 'UNIQUE'];
    // Upstream reports some errors twice.
    if (key === 'causes' && Array.isArray(item))
      return [key, unique(normalized(item, text) as unknown[])];
    return [key, normalized(item, text)];
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function unique(items: readonly unknown[]): unknown[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

function withoutIdentities(value: string): string {
  return value
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) =>
      time.startsWith('2026-01-0') ? time : 'TIME',
    )
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/\bg-[a-z0-9]{5}\b/g, 'g-SUFFIX')
    .replaceAll(/(?:read|write) tcp [\d.:]+->[\d.:]+:/g, 'read tcp ADDRESSES:');
}
