// Custom objects keep their fields in the order of their names, behind kind, apiVersion and metadata (see the structural codec).

const FIRST: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata']);

type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the object with another value of a field; undefined: without the field. A new field is put in its place. */
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
