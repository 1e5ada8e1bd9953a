// Custom objects have their fields sorted by name, after kind, apiVersion and metadata (see the
// structural codec).

const FIRST: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata']);

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Returns the object with another value of a field; undefined removes the field. A new field is
 * inserted in its sorted place.
 */
export function withSortedField<T extends object>(object: T, name: string, value: unknown): T {
  const fields = object as JsonObject;
  if (value === undefined) {
    if (!Object.hasOwn(fields, name)) return object;
    const { [name]: _, ...rest } = fields;
    return rest as T;
  }
  if (Object.hasOwn(fields, name)) return { ...object, [name]: value };
  const names = Object.keys(fields);
  const at = names.findIndex((each) => !FIRST.has(each) && each > name);
  const entries = Object.entries(fields);
  entries.splice(at < 0 ? entries.length : at, 0, [name, value]);
  return Object.fromEntries(entries) as T;
}
