// Reads values inside an object by a path such as '.status.conditions[*].type' or
// '.metadata.labels.app'.

/**
 * Returns the values at the path. Empty: a step does not exist in the object. A dot inside a key is
 * written '\.'.
 */
export function valuesAt(object: unknown, path: string): unknown[] {
  let values: unknown[] = [object];
  for (const step of path.match(/(?:[^.[\]\\]|\\.)+/g) ?? []) {
    const key = step.replaceAll('\\', '');
    values = values.flatMap((value) => {
      if (typeof value !== 'object' || value === null) return [];
      if (key === '*') return Object.values(value);
      const next = (value as Record<string, unknown>)[key];
      return next === undefined ? [] : [next];
    });
  }
  return values;
}

/** Returns a value for a cell or a line: text unchanged, everything else as JSON. */
export function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
