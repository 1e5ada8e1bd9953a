// Decodes objects by their schema in one pass: copies the value, drops unknown fields (pruning) and
// (mostly) nulls that are not allowed, and decodes the metadata of embedded resources. A reader is compiled
// per schema node on first use.
//
// Values of a wrong type are kept: validation reports them. Scalars are not checked.

import { setOwn } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldError } from '#machinery/validation/field.ts';
import { DecodeError } from '../decode-error.ts';
import { decodeMetadata, repairMetadata } from './object-meta.ts';
import type { ReadContext } from './read-context.ts';
import { sortedCopy, sortedKeys } from './sorted.ts';
import { schemaOfField, type StructuralSchema, valuesOf } from './structural-schema.ts';

/** Returns a copy of the value; undefined: the value is dropped. */
export type Read = (value: unknown, context: ReadContext) => unknown;

/** The fields of every resource, whatever its schema. */
export const RESOURCE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** A field of an embedded resource cannot be decoded. */
export class InvalidFieldError extends DecodeError {
  readonly error: FieldError;

  constructor(error: FieldError) {
    super(error.message, error.field);
    this.error = error;
  }
}

/** The handling of a value without a schema. */
type Policy = 'prune' | 'keep';

interface CompiledField {
  readonly read: Read;
  /** Nulls are dropped: the schema does not allow them, and has no default to replace them. */
  readonly dropsNull: boolean;
}

const readers = new WeakMap<StructuralSchema, Partial<Record<Policy, Read>>>();

/** Returns the reader of the schema's values. */
export function readerOf(schema: StructuralSchema): Read {
  return compiled(schema, 'prune');
}

/**
 * Returns the reader of a schema. `policy`: the parent's handling of fields without a schema. A
 * schema that preserves unknown fields keeps them in any case.
 */
function compiled(schema: StructuralSchema, policy: Policy): Read {
  const own = schema.preserveUnknownFields ? 'keep' : policy;
  let cached = readers.get(schema);
  if (cached === undefined) readers.set(schema, (cached = {}));
  let read = cached[own];
  if (read === undefined) {
    read = new NodeReader(schema, own).read;
    cached[own] = read;
  }
  return read;
}

/**
 * Reads a value without a schema below pruned fields: objects lose all of their fields, lists keep
 * their length.
 */
const pruneAll: Read = (value, context) => {
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) {
    const input = value as Record<string, unknown>;
    for (const name of sortedKeys(input)) if (input[name] !== undefined) context.unknownField(name);
    return {};
  }
  return value.map((item: unknown, index) => {
    context.push(index, false);
    const copy = pruneAll(item, context);
    context.pop();
    return copy ?? null;
  });
};

const withoutSchema: Readonly<Record<Policy, Read>> = { prune: pruneAll, keep: sortedCopy };

class NodeReader {
  readonly #schema: StructuralSchema;
  readonly #policy: Policy;
  readonly #fields = new Map<string, CompiledField>();
  #items: Read | undefined;
  /** Undefined until first use; null: fields that are not properties have no schema. */
  #values: CompiledField | null | undefined;

  constructor(schema: StructuralSchema, policy: Policy) {
    this.#schema = schema;
    this.#policy = policy;
  }

  readonly read: Read = (value, context) => {
    if (typeof value !== 'object' || value === null) return value;
    return Array.isArray(value)
      ? this.#list(value, context)
      : this.#object(value as Record<string, unknown>, context);
  };

  #list(list: readonly unknown[], context: ReadContext): unknown[] {
    this.#items ??= this.#readItems();
    const items = this.#items;
    const copy: unknown[] = [];
    for (let i = 0; i < list.length; i++) {
      const item = list[i] ?? null;
      if (typeof item !== 'object' || item === null) {
        copy.push(item);
        continue;
      }
      context.push(i, false);
      copy.push(items(item, context));
      context.pop();
    }
    return copy;
  }

  /**
   * Returns the reader of items. Pruning follows the item's own schema; preserved fields are
   * preserved in items, too.
   */
  #readItems(): Read {
    const { items } = this.#schema;
    return items === undefined ? withoutSchema[this.#policy] : compiled(items, this.#policy);
  }

  #object(input: Readonly<Record<string, unknown>>, context: ReadContext): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    for (const name of sortedKeys(input)) {
      const value = input[name];
      if (value === undefined) continue;
      const isProperty = this.#schema.properties.has(name);
      const compiledField = this.#field(name, isProperty);
      if (value === null && compiledField?.dropsNull === true && !context.keepsNulls) continue;
      if (this.#schema.embeddedResource && RESOURCE_FIELDS.has(name)) {
        const isKept = !context.isStored || name === 'metadata' || typeof value === 'string';
        if (isKept) setOwn(copy, name, resourceField(name, value, context));
        continue;
      }
      if (compiledField === undefined) {
        if (this.#policy === 'keep') setOwn(copy, name, sortedCopy(value));
        else context.unknownField(name);
        continue;
      }
      if (typeof value !== 'object' || value === null) {
        setOwn(copy, name, value);
        continue;
      }
      context.push(name, !isProperty);
      setOwn(copy, name, compiledField.read(value, context));
      context.pop();
    }
    return copy;
  }

  #field(name: string, isProperty: boolean): CompiledField | undefined {
    if (!isProperty) {
      this.#values ??= this.#compileValues();
      return this.#values ?? undefined;
    }
    let field = this.#fields.get(name);
    if (field === undefined) {
      field = compileField(schemaOfField(this.#schema, name));
      this.#fields.set(name, field);
    }
    return field;
  }

  #compileValues(): CompiledField | null {
    return this.#schema.additionalProperties === undefined
      ? null
      : compileField(valuesOf(this.#schema));
  }
}

/**
 * Compiles the schema of a known field, which starts with pruning again, whatever the parent does.
 */
function compileField(schema: StructuralSchema | undefined): CompiledField {
  if (schema === undefined) return { read: pruneAll, dropsNull: false };
  return {
    read: compiled(schema, 'prune'),
    dropsNull: !schema.nullable && schema.default === undefined,
  };
}

/** Decodes apiVersion, kind or metadata of an embedded resource. Throws DecodeError. */
function resourceField(name: string, value: unknown, context: ReadContext): unknown {
  if (name !== 'metadata') {
    if (typeof value === 'string') return value;
    throw invalidField(name, value, 'must be a string', context);
  }
  try {
    const { metadata, unknownFields } = decodeMetadata(value);
    context.unknownMetadata(unknownFields);
    return metadata;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (context.isStored) return repairMetadata(value).metadata;
    throw invalidField(name, value, error.message, context);
  }
}

function invalidField(
  name: string,
  value: unknown,
  detail: string,
  context: ReadContext,
): InvalidFieldError {
  return new InvalidFieldError(field.invalid(context.path().child(name), value, detail));
}
