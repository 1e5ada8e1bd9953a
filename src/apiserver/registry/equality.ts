// Equality of JSON values.

/** True if both are the same JSON; the order of keys does not matter, and an undefined field counts as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (Array.isArray(b)) return false;
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(left)) if (left[key] !== undefined && !sameJson(left[key], own(right, key))) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && own(left, key) === undefined) return false;
  return true;
}

function own(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
