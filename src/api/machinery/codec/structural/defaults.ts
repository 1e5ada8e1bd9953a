// Defaults of custom resources: applying them, and pruning them before.

import { deepCopy, getOwn, isPlainObject, setOwn } from '#machinery/deep.ts';
import { DecodeError } from '../decode-error.ts';
import { ReadContext } from './read-context.ts';
import { readerOf, RESOURCE_FIELDS } from './reader.ts';
import { decodeMetadata } from './object-meta.ts';
import { sortKeysInPlace } from './sorted.ts';
import { anywhere } from './schema-predicate.ts';
import { type StructuralSchema, valuesOf } from './structural-schema.ts';

type Apply = (value: unknown) => void;

const nothing: Apply = () => undefined;

const hasDefaults = anywhere((schema) => schema.default !== undefined);

/**
 * Returns a function that sets the defaults of an object: for missing fields, and for nulls of
 * fields, items and values that are not nullable. Defaults may be nested. It modifies the value; it
 * does not apply the schema's own default.
 */
export function compileDefaults(schema: StructuralSchema | undefined): Apply {
  if (schema === undefined || !hasDefaults(schema)) return nothing;
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

/**
 * Returns the function for an item of a list or a value of a map, which is present or null.
 * Undefined: there are no defaults.
 */
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
 * Returns the schema with served defaults: without fields that the schema or metadata does not
 * have. Unchanged nodes are shared. An earlier version may have stored a definition with such
 * defaults.
 */
export function withPrunedDefaults(schema: StructuralSchema): StructuralSchema {
  return hasDefaults(schema) ? pruned(schema, 'object') : schema;
}

/**
 * The position of a node for defaults: a resource (embedded or the whole object), a value in the
 * metadata of a resource (the metadata itself, or inside of it), or any other.
 */
type Place = 'object' | 'value' | InMetadata;

interface InMetadata {
  /** Returns metadata with the value at the position, and nothing else. */
  readonly around: (value: unknown) => unknown;
  /** Returns the value at the position; undefined if there is none. */
  readonly find: (metadata: unknown) => unknown;
}

const METADATA: InMetadata = { around: (value) => value, find: (metadata) => metadata };

/** Returns the position of a field of the value at another position, or of an item (0). */
function inside(place: Place, name: string | 0): Place {
  if (typeof place === 'string') return 'value';
  return {
    around: (value) => place.around(name === 0 ? [value] : { [name]: value }),
    find: (metadata) => {
      const outer = place.find(metadata);
      if (Array.isArray(outer)) return outer[0];
      return isPlainObject(outer) ? getOwn(outer, String(name)) : undefined;
    },
  };
}

function pruned(schema: StructuralSchema, place: Place): StructuralSchema {
  const isResource = place === 'object' || schema.embeddedResource;
  const { items, additionalProperties } = schema;
  return {
    ...schema,
    default: schema.default === undefined ? undefined : prunedDefault(schema, place),
    items: items === undefined ? undefined : pruned(items, inside(place, 0)),
    properties: new Map(
      [...schema.properties].map(([name, property]) => [
        name,
        pruned(property, isResource && name === 'metadata' ? METADATA : inside(place, name)),
      ]),
    ),
    additionalProperties:
      typeof additionalProperties === 'object'
        ? pruned(additionalProperties, inside(place, 'key'))
        : additionalProperties,
  };
}

function prunedDefault(schema: StructuralSchema, place: Place): unknown {
  try {
    if (typeof place !== 'string')
      return place.find(decodeMetadata(place.around(schema.default)).metadata);
    return readerOf(schema)(withoutWrongFields(schema, schema.default), new ReadContext());
  } catch (error) {
    // A default of a wrong type is not pruned. Today it cannot be stored.
    if (error instanceof DecodeError) return schema.default;
    throw error;
  }
}

/** Removes apiVersion and kind if they are not strings from an embedded resource. */
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
