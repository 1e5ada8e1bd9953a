// The fields that a definition names by a path, such as '.spec.type' in selectableFields.

import { type StructuralSchema, valuesOf } from './structural-schema.ts';

export interface FoundField {
  /** The names of the fields, outermost first. */
  readonly path: readonly string[];
  /** Undefined: any value is allowed. */
  readonly schema: StructuralSchema | undefined;
}

const NO_FIELD = 'does not refer to a valid field';

/**
 * Returns the field of a path of names with a dot before each; for an invalid path, upstream's
 * error text.
 */
export function findField(path: string, schema: StructuralSchema): FoundField | string {
  const names: string[] = [];
  let current: StructuralSchema | undefined = schema;
  const tokens = tokensOf(path);
  for (let token = tokens.next(); token.done !== true; token = tokens.next()) {
    if (token.value === '[') return 'array notation is not allowed';
    if (token.value !== '.') return `expected [ or . but got: ${token.value}`;
    const name = tokens.next();
    if (name.done === true) return 'unexpected end of JSON path';
    if (current === undefined) return NO_FIELD;
    const hasProperties: boolean = current.properties.size > 0;
    const next: StructuralSchema | undefined = hasProperties
      ? current.properties.get(name.value)
      : valuesOf(current);
    if (next === undefined && (hasProperties || current.additionalProperties === undefined))
      return NO_FIELD;
    names.push(name.value);
    current = next;
  }
  return { path: names, schema: current };
}

/**
 * Splits a path at '.', '[' and ']', which are tokens themselves. A text that begins with a quote
 * ends with the next one.
 */
function* tokensOf(path: string): Generator<string, undefined> {
  for (const [token] of path.matchAll(/[.[\]]|'(?:[^'\\]|\\.)*(?:'|$)|[^.[\]]+/gs)) yield token;
}
