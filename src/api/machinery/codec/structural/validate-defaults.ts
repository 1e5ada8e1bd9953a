// Validates the defaults of a schema: a default must be a value that an object could have there.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateEmbedded, validateResource } from './embedded.ts';
import { ReadContext } from './read-context.ts';
import { InvalidFieldError, readerOf, RESOURCE_FIELDS } from './reader.ts';
import type { StructuralSchema } from './structural-schema.ts';
import { validateValue } from './validate-value.ts';

/** Builds a resource around a default that is in its metadata. */
type Surround = (value: unknown) => Record<string, unknown>;

/** Returns what is wrong with the defaults of the schema. */
export function validateDefaults(schema: StructuralSchema, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  validateNode({ ...schema, embeddedResource: true }, at, undefined, errors);
  return errors;
}

/** `surround`: the node is in the metadata of a resource. */
function validateNode(schema: StructuralSchema, at: FieldPath, surround: Surround | undefined, errors: FieldErrorList): void {
  const inMeta = schema.embeddedResource ? undefined : surround;
  if (schema.default !== undefined) errors.push(...validateDefault(schema, at.child('default'), inMeta));
  // There are no defaults below additionalProperties of metadata; elsewhere upstream does not look below them.
  const { items } = schema;
  if (items !== undefined) {
    validateNode(items, at.child('items'), inMeta === undefined ? undefined : (value) => inMeta([value]), errors);
  }
  for (const [name, property] of schema.properties) {
    validateNode(property, at.child('properties').key(name), surroundOf(schema, name, inMeta), errors);
  }
}

function surroundOf(schema: StructuralSchema, name: string, inMeta: Surround | undefined): Surround | undefined {
  if (inMeta !== undefined) return (value) => inMeta({ [name]: value });
  if (!schema.embeddedResource || !RESOURCE_FIELDS.has(name)) return undefined;
  return (value) => ({ apiVersion: 'validation/v1', kind: 'Validation', [name]: value });
}

function validateDefault(schema: StructuralSchema, at: FieldPath, surround: Surround | undefined): FieldErrorList {
  const value = schema.default;
  if (surround !== undefined) {
    const errors = validateResource(surround(value), field.path(''));
    if (errors.length > 0) return [field.invalid(at, value, `must result in valid metadata: ${field.aggregateMessage(errors)}`)];
    return validateValue(schema.source, value, { base: at, ofObjects: false });
  }
  const read = readDefault(schema, value, at);
  if (read instanceof field.FieldError) return [read];
  const errors = read.pruned.length === 0 ? [] : [field.invalid(at, value, 'must not have unknown fields')];
  const embedded = validateEmbedded(schema, value, at);
  return [...errors, ...(embedded.length > 0 ? embedded : validateValue(schema.source, value, { base: at, ofObjects: false }))];
}

/** Returns what reading the default reported, or the error of the first field that cannot be read. */
function readDefault(schema: StructuralSchema, value: unknown, at: FieldPath): ReadContext | field.FieldError {
  const context = new ReadContext(at);
  try {
    readerOf(schema)(value, context);
    return context;
  } catch (error) {
    if (error instanceof InvalidFieldError) return error.error;
    throw error;
  }
}
