// Types from schemas: an OpenAPI schema (of a CRD, structural) says what type an object has and how large its parts can be.

import {
  BOOL,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  STRING,
  TIMESTAMP,
  type FieldType,
  type ListType,
  type MapType,
  type ObjectType,
  type Type,
} from './types.ts';

/** As much of a schema as types are made of. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** The largest request that the server takes: nothing in an object can be larger. */
const MAX_REQUEST = 3 * 1024 * 1024;

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const ESCAPES: Readonly<Record<string, string>> = { __: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash' };

/** A property's name as expressions write it: 'x-y' is x__dash__y. Undefined: they cannot. */
export function escapeName(name: string): string | undefined {
  if (name === '' || /^[0-9]/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  const escaped = name.replaceAll(/__|[./-]/g, (found) => `__${ESCAPES[found] as string}__`);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

/** A type, and the fewest bytes of JSON that a value of it needs. */
interface Sized {
  readonly type: Type;
  readonly minSize: number;
}

const META: Schema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/** Kind, version and name of a resource can be seen, whatever its schema says. */
function withMeta(schema: Schema): Schema {
  return {
    ...schema,
    type: schema.type ?? 'object',
    properties: { ...schema.properties, kind: { type: 'string' }, apiVersion: { type: 'string' }, metadata: metadataOf(schema) },
  };
}

function metadataOf(schema: Schema): Schema {
  const metadata = schema.properties?.metadata;
  const known = metadata?.properties;
  return known?.name?.type === 'string' && known.generateName?.type === 'string' ? (metadata as Schema) : META;
}

/**
 * The type of values of the schema; undefined if expressions cannot see them. `name`: what messages call it. `isRoot`: it is a whole
 * resource.
 */
export function typeOfSchema(schema: Schema, name: string, isRoot = false): Type | undefined {
  return sized(schema, name, isRoot)?.type;
}

function sized(given: Schema, name: string, isRoot = given['x-kubernetes-embedded-resource'] === true): Sized | undefined {
  if (given['x-kubernetes-int-or-string'] === true) {
    return { type: { ...DYN, maxLength: given.maxLength === undefined ? MAX_REQUEST - 2 : given.maxLength * 4 }, minSize: 1 };
  }
  const schema = isRoot ? withMeta(given) : given;
  switch (schema.type) {
    case 'array':
      return arrayOf(schema, name);
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? mapOf(schema, schema.additionalProperties, name)
        : objectOf(schema, name);
    case 'string':
      return stringOf(schema);
    case 'boolean':
      return { type: BOOL, minSize: 4 };
    case 'number':
      return { type: DOUBLE, minSize: 1 };
    case 'integer':
      return { type: INT, minSize: 1 };
    default:
      return undefined;
  }
}

function arrayOf(schema: Schema, name: string): Sized | undefined {
  const items = schema.items === undefined ? undefined : sized(schema.items, `${name}.@idx`);
  if (items === undefined) return undefined;
  const listType = schema['x-kubernetes-list-type'];
  const type: ListType = {
    kind: 'list',
    element: items.type,
    maxItems: Math.max(0, schema.maxItems ?? Math.floor((MAX_REQUEST - 2) / (items.minSize + 1))),
    ...(listType === 'set' && { setBy: [] }),
    ...(listType === 'map' && { setBy: schema['x-kubernetes-list-map-keys'] ?? [] }),
  };
  return { type, minSize: 2 };
}

function mapOf(schema: Schema, values: Schema, name: string): Sized | undefined {
  const value = sized(values, `${name}.@elem`);
  if (value === undefined) return undefined;
  const type: MapType = {
    kind: 'map',
    key: STRING,
    value: value.type,
    maxProperties: Math.max(0, schema.maxProperties ?? Math.floor((MAX_REQUEST - 2) / (value.minSize + 6))),
  };
  return { type, minSize: 2 };
}

function objectOf(schema: Schema, name: string): Sized {
  const fields = new Map<string, FieldType>();
  let minSize = 2;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const field = sized(property, `${name}.${key}`);
    if (field === undefined) continue;
    const escaped = escapeName(key);
    if (escaped !== undefined) fields.set(escaped, { type: field.type, ...(escaped !== key && { property: key }) });
    if (schema.required?.includes(key) === true && property.default === undefined) minSize += key.length + field.minSize + 4;
  }
  const type: ObjectType = { kind: 'object', name, field: (key) => fields.get(key), fieldNames: () => [...fields.keys()] };
  return { type, minSize };
}

function stringOf(schema: Schema): Sized {
  switch (schema.format) {
    case 'byte':
      return { type: { kind: 'bytes', maxLength: Math.max(0, schema.maxLength ?? MAX_REQUEST - 2) }, minSize: 2 };
    case 'duration':
      return { type: { ...DURATION, maxLength: 32 }, minSize: 3 };
    case 'date':
      return { type: { ...TIMESTAMP, maxLength: 12 }, minSize: 12 };
    case 'date-time':
      return { type: { ...TIMESTAMP, maxLength: 32 }, minSize: 21 };
    default:
      return { type: { kind: 'string', maxLength: maxLengthOf(schema) }, minSize: 2 };
  }
}

/** In bytes: a character has up to four. */
function maxLengthOf({ maxLength, enum: values }: Schema): number {
  if (maxLength !== undefined) return Math.max(0, maxLength) * 4;
  if (values === undefined || values.length === 0) return MAX_REQUEST - 2;
  return Math.max(0, ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)));
}
