// Questions about a schema and everything inside it.

import type { StructuralSchema } from './structural-schema.ts';

/**
 * Returns a function that reports whether `test` holds for a schema or one inside it. Schemas are
 * immutable, so each one is asked once.
 */
export function anywhere(
  test: (schema: StructuralSchema) => boolean,
): (schema: StructuralSchema | undefined) => boolean {
  const answers = new WeakMap<StructuralSchema, boolean>();
  const holds = (schema: StructuralSchema | undefined): boolean => {
    if (schema === undefined) return false;
    const known = answers.get(schema);
    if (known !== undefined) return known;
    const { items, properties, additionalProperties } = schema;
    const answer =
      test(schema) ||
      holds(items) ||
      (typeof additionalProperties === 'object' && holds(additionalProperties)) ||
      [...properties.values()].some(holds);
    answers.set(schema, answer);
    return answer;
  };
  return holds;
}
