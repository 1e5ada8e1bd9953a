// Defaults of custom resources: what applying them does, and how they are made fit for it.

import { deepCopy, setOwn } from '#machinery/deep.ts';
import { DecodeError } from '../decode-error.ts';
import { ReadContext } from './read-context.ts';
import { readerOf, RESOURCE_FIELDS } from './reader.ts';
import { decodeMetadata } from './object-meta.ts';
import { sortKeysInPlace } from './sorted.ts';
import { type StructuralSchema, valuesOf } from './structural-schema.ts';

type Apply = (value: unknown) => void;

const nothing: Apply = () => undefined;

const withDefaults = new WeakMap<StructuralSchema, boolean>();

/** Reports whether a schema inside of this one has a default. */
function hasDefaultsInside(schema: StructuralSchema): boolean {
  let known = withDefaults.get(schema);
  if (known === undefined) {
    known = [...schema.properties.values(), schema.items, valuesOf(schema)].some(hasDefaults);
    withDefaults.set(schema, known);
  }
  return known;
}

function hasDefaults(schema: StructuralSchema | undefined): boolean {
  return schema !== undefined && (schema.default !== undefined || hasDefaultsInside(schema));
}

/**
 * Returns what fills in the defaults of an object: missing fields that have one, and nulls of fields, items and values that are not
 * nullable and have one. Defaults may be inside of defaults. The value is changed; the schema's own default is not applied.
 */
export function compileDefaults(schema: StructuralSchema | undefined): Apply {
  if (schema === undefined || !hasDefaultsInside(schema)) return nothing;
  const properties = [...schema.properties]
    .filter(([, property]) => hasDefaults(property))
    .map(compileProperty);
  const isProperty = (name: string): boolean => schema.properties.has(name);
  const values = compileValue(valuesOf(schema));
  const items = compileValue(schema.items);
  return (value) => {
    if (Array.isArray(value)) {
      if (items !== undefined) for (let i = 0; i < value.length; i++) value[i] = items(value[i]);
    } else if (typeof value === 'object' && value !== null) {
      const object = value as Record<string, unknown>;
      for (const property of properties) property(object);
      if (values !== undefined) {
        for (const name of Object.keys(object))
          if (!isProperty(name)) setOwn(object, name, values(object[name]));
      }
    }
  };
}

function compileProperty([name, schema]: readonly [string, StructuralSchema]): (
  object: Record<string, unknown>,
) => void {
  const inside = compileDefaults(schema);
  return (object) => {
    const isMissing = !Object.hasOwn(object, name) || object[name] === undefined;
    if (
      schema.default !== undefined &&
      (isMissing || (object[name] === null && !schema.nullable))
    ) {
      setOwn(object, name, deepCopy(schema.default));
      if (isMissing) sortKeysInPlace(object);
    } else if (isMissing) return;
    inside(object[name]);
  };
}

/** An item of a list or a value of a map: it is there, or null. Undefined: there is nothing to default. */
function compileValue(
  schema: StructuralSchema | undefined,
): ((value: unknown) => unknown) | undefined {
  if (schema === undefined || !hasDefaults(schema)) return undefined;
  const inside = compileDefaults(schema);
  return (value) => {
    const defaulted =
      value === null && !schema.nullable && schema.default !== undefined
        ? deepCopy(schema.default)
        : value;
    inside(defaulted);
    return defaulted;
  };
}

/**
 * Returns the schema with its defaults as they are served: without fields that the schema, or metadata, does not know. Nodes without a
 * change are shared. A definition may have been stored with such defaults by an earlier version.
 */
export function withPrunedDefaults(schema: StructuralSchema): StructuralSchema {
  return hasDefaults(schema) ? pruned(schema, 'object') : schema;
}

/** Where a node is, as far as defaults are concerned: a resource (embedded or the whole object), its metadata, or anything else. */
type Place = 'object' | 'metadata' | 'value';

function pruned(schema: StructuralSchema, place: Place): StructuralSchema {
  const isResource = place === 'object' || schema.embeddedResource;
  const { items, additionalProperties } = schema;
  return {
    ...schema,
    default: schema.default === undefined ? undefined : prunedDefault(schema, place),
    items: items === undefined ? undefined : pruned(items, 'value'),
    properties: new Map(
      [...schema.properties].map(([name, property]) => {
        return [name, pruned(property, isResource && name === 'metadata' ? 'metadata' : 'value')];
      }),
    ),
    additionalProperties:
      typeof additionalProperties === 'object'
        ? pruned(additionalProperties, 'value')
        : additionalProperties,
  };
}

function prunedDefault(schema: StructuralSchema, place: Place): unknown {
  try {
    if (place === 'metadata') return decodeMetadata(schema.default).metadata;
    return readerOf(schema)(withoutWrongFields(schema, schema.default), new ReadContext());
  } catch (error) {
    // A default of a wrong type is not pruned. It cannot be stored today.
    if (error instanceof DecodeError) return schema.default;
    throw error;
  }
}

/** An embedded resource loses type fields that are no text. */
function withoutWrongFields(schema: StructuralSchema, value: unknown): unknown {
  if (
    !schema.embeddedResource ||
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value)
  )
    return value;
  const copy: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value as Record<string, unknown>)) {
    if (!RESOURCE_FIELDS.has(name) || name === 'metadata' || typeof item === 'string')
      setOwn(copy, name, item);
  }
  return copy;
}
