// Types from schemas: an OpenAPI schema (of a CRD, structural) determines the type of an object and
// the sizes of its parts.
//
// The types of fields, items and values are created lazily, because an expression uses few parts of
// a schema. Results that are needed repeatedly (visibility to expressions, minimal size) are cached
// per schema.

import {
  parseBytes,
  parseDate,
  parseDateTime,
  parseFormatDuration,
  readBool,
  readDouble,
  readInt,
  readIntOrString,
  readText,
} from './schema-values.ts';
import {
  BOOL,
  BYTES,
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
  type SimpleType,
  type Type,
} from './types.ts';

/** The part of a schema from which types are derived. */
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

/** The largest request that the server accepts, in bytes, which limits every part of an object. */
const MAX_REQUEST = 3 * 1024 * 1024;

const RESERVED: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package ' +
    'namespace return var void while'
  ).split(' '),
);
const ESCAPES: Readonly<Record<string, string>> = {
  __: 'underscores',
  '.': 'dot',
  '-': 'dash',
  '/': 'slash',
};

/**
 * Returns a property's name in expressions: 'x-y' is x__dash__y. Undefined: expressions cannot name
 * it.
 */
export function escapeName(name: string): string | undefined {
  if (name === '' || /^[0-9]/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  const escaped = name.replaceAll(/__|[./-]/g, (found) => `__${ESCAPES[found]!}__`);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

const META: Schema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

const wholeResources = new WeakMap<Schema, Schema>();

/**
 * Returns the schema of a resource. Its kind, version and name are visible, even if the schema
 * lacks them.
 */
function withMeta(schema: Schema): Schema {
  let withMetadata = wholeResources.get(schema);
  if (withMetadata === undefined) {
    const { kind, apiVersion, metadata } = schema.properties ?? {};
    const isComplete =
      kind?.type === 'string' &&
      apiVersion?.type === 'string' &&
      metadata !== undefined &&
      metadataOf(schema) === metadata;
    withMetadata = isComplete
      ? schema
      : {
          ...schema,
          type: schema.type ?? 'object',
          properties: {
            ...schema.properties,
            kind: { type: 'string' },
            apiVersion: { type: 'string' },
            metadata: META,
          },
        };
    wholeResources.set(schema, withMetadata);
  }
  return withMetadata;
}

function metadataOf(schema: Schema): Schema {
  const metadata = schema.properties?.metadata;
  const metadataProperties = metadata?.properties;
  return metadataProperties?.name?.type === 'string' &&
    metadataProperties.generateName?.type === 'string'
    ? metadata!
    : META;
}

/** A map whose values have a schema. */
type MapSchema = Schema & { readonly additionalProperties: Schema };

const isMap = (schema: Schema): schema is MapSchema =>
  typeof schema.additionalProperties === 'object' && schema.additionalProperties !== null;

/**
 * Returns a child schema as expressions see it: kind, version and name of an embedded resource are
 * visible.
 */
const child = (schema: Schema): Schema =>
  schema['x-kubernetes-embedded-resource'] === true ? withMeta(schema) : schema;

/**
 * Returns the type for values of the schema; undefined if expressions cannot see them. `name`: for
 * messages. `isRoot`: the schema is that of a whole resource.
 */
export function typeOfSchema(schema: Schema, name: string, isRoot = false): Type | undefined {
  return typeOf(isRoot ? withMeta(schema) : schema, name);
}

/**
 * Returns the minimal number of bytes of JSON for a value of the schema; undefined if expressions
 * cannot see such values.
 */
export function minimalSize(schema: Schema, isRoot = false): number | undefined {
  return minSize(isRoot ? withMeta(schema) : schema);
}

const BOOLEAN: SimpleType = { ...BOOL, read: readBool };
const NUMBER: SimpleType = { ...DOUBLE, read: readDouble };
const INTEGER: SimpleType = { ...INT, read: readInt };
const TEXT = readText((text) => text);
const READERS = {
  byte: readText(parseBytes),
  duration: readText(parseFormatDuration),
  date: readText(parseDate),
  'date-time': readText(parseDateTime),
};

function typeOf(schema: Schema, name: string): Type | undefined {
  if (minSize(schema) === undefined) return undefined;
  if (schema['x-kubernetes-int-or-string'] === true) {
    return {
      ...DYN,
      read: readIntOrString,
      maxLength:
        (schema.maxLength ?? undefined) === undefined
          ? MAX_REQUEST - 2
          : Math.max(0, schema.maxLength!) * 4,
    };
  }
  switch (schema.type) {
    case 'array':
      return listOf(schema, child(schema.items!), name);
    case 'object':
      return isMap(schema)
        ? mapOf(schema, child(schema.additionalProperties), name)
        : objectOf(schema, name);
    case 'string':
      return stringOf(schema);
    case 'boolean':
      return BOOLEAN;
    case 'number':
      return NUMBER;
    default:
      return INTEGER;
  }
}

/** Returns a function that creates the type of a visible part on first use. */
function lazy(schema: Schema, name: string): () => Type {
  let type: Type | undefined;
  return () => (type ??= typeOf(schema, name)!);
}

function listOf(schema: Schema, items: Schema, name: string): ListType {
  const element = lazy(items, `${name}.@idx`);
  const listType = schema['x-kubernetes-list-type'];
  return {
    kind: 'list',
    strict: true,
    get element() {
      return element();
    },
    maxItems: Math.max(0, schema.maxItems ?? Math.floor((MAX_REQUEST - 2) / (minSize(items)! + 1))),
    ...(listType === 'set' && { setBy: [] }),
    // As in upstream, items lack keys with an escaped name.
    ...(listType === 'map' && { setBy: schema['x-kubernetes-list-map-keys'] ?? [] }),
  };
}

/** Upstream assumes that keys have no size. */
const MAP_KEY: SimpleType = { ...STRING, maxLength: 0 };

function mapOf(schema: Schema, values: Schema, name: string): MapType {
  const value = lazy(values, `${name}.@elem`);
  return {
    kind: 'map',
    strict: true,
    key: MAP_KEY,
    get value() {
      return value();
    },
    maxProperties: Math.max(
      0,
      schema.maxProperties ?? Math.floor((MAX_REQUEST - 2) / (minSize(values)! + 6)),
    ),
  };
}

function objectOf(schema: Schema, name: string): ObjectType {
  const properties = propertiesOf(schema);
  const fields = new Map<string, FieldType>();
  const field = (key: string): FieldType | undefined => {
    let cached = fields.get(key);
    const property = cached === undefined ? properties.get(key) : undefined;
    if (property === undefined) return cached;
    cached = {
      type: typeOf(child(property.schema), `${name}.${key}`)!,
      ...(property.name !== key && { property: property.name }),
    };
    fields.set(key, cached);
    return cached;
  };
  return {
    kind: 'object',
    name,
    field,
    fieldNames: () => [...properties.keys()],
    unstructured: true,
  };
}

interface Property {
  readonly schema: Schema;
  readonly name: string;
}

const properties = new WeakMap<Schema, ReadonlyMap<string, Property>>();

/** Returns the properties that expressions can see, by their names in expressions. */
function propertiesOf(schema: Schema): ReadonlyMap<string, Property> {
  let cached = properties.get(schema);
  if (cached === undefined) {
    const visible = new Map<string, Property>();
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const escaped = escapeName(name);
      if (escaped !== undefined && minSize(child(property)) !== undefined)
        visible.set(escaped, { schema: property, name });
    }
    cached = visible;
    properties.set(schema, cached);
  }
  return cached;
}

function stringOf(schema: Schema): SimpleType {
  switch (schema.format) {
    case 'byte':
      return {
        ...BYTES,
        maxLength: Math.max(0, schema.maxLength ?? MAX_REQUEST - 2),
        read: READERS.byte,
      };
    case 'duration':
      return { ...DURATION, maxLength: 32, read: READERS.duration };
    case 'date':
      return { ...TIMESTAMP, maxLength: 12, read: READERS.date };
    case 'date-time':
      return { ...TIMESTAMP, maxLength: 32, read: READERS['date-time'] };
    default:
      return { ...STRING, maxLength: maxLengthOf(schema), read: TEXT };
  }
}

/** Returns the maximal length in bytes: a character has up to four. */
function maxLengthOf({ maxLength, enum: values }: Schema): number {
  if (typeof maxLength === 'number') return Math.max(0, maxLength) * 4;
  if (!Array.isArray(values) || values.length === 0) return MAX_REQUEST - 2;
  return Math.max(
    0,
    ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)),
  );
}

const minSizes = new WeakMap<Schema, number | null>();

/** Does the same as minimalSize, for a schema as expressions see it. */
function minSize(schema: Schema): number | undefined {
  let cached = minSizes.get(schema);
  if (cached === undefined) {
    cached = computeMinSize(schema) ?? null;
    minSizes.set(schema, cached);
  }
  return cached ?? undefined;
}

const MIN_SIZES_OF_FORMATS: ReadonlyMap<string | undefined, number> = new Map([
  ['duration', 3],
  ['date', 12],
  ['date-time', 21],
]);

function computeMinSize(schema: Schema): number | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return 1;
  const items = schema.items ?? undefined;
  switch (schema.type) {
    case 'array':
      return items === undefined || minSize(child(items)) === undefined ? undefined : 2;
    case 'object':
      if (!isMap(schema)) return minSizeOfObject(schema);
      return minSize(child(schema.additionalProperties)) === undefined ? undefined : 2;
    case 'string':
      return MIN_SIZES_OF_FORMATS.get(schema.format) ?? 2;
    case 'boolean':
      return 4;
    case 'number':
    case 'integer':
      return 1;
    default:
      return undefined;
  }
}

function minSizeOfObject(schema: Schema): number {
  const required = new Set(schema.required);
  let size = 2;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const own = minSize(child(property));
    if (own !== undefined && required.has(name) && (property.default ?? undefined) === undefined)
      size += Buffer.byteLength(name) + own + 4;
  }
  return size;
}
