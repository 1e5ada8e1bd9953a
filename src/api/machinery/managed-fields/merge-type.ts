// The rules for merging a type, from its descriptor: which structs, maps and lists are granular
// (each field or item has its own owners) or atomic (one value, however large), and the keys of
// list items.

import type { FieldDescriptor, MessageDescriptor, Scalar, TypeRef } from '../descriptor.ts';
import { fieldElement, type PathElement } from './path-element.ts';

/** The JSON type of a scalar. 'untyped': any (quantities, times, int-or-string). */
export type ScalarKind = 'numeric' | 'string' | 'boolean' | 'untyped';

/** The possible shapes of a value. Typed fields have one; free-form ones have all three. */
export interface MergeType {
  readonly scalar?: ScalarKind;
  readonly list?: ListShape;
  readonly map?: MapShape;
}

export interface ListShape {
  readonly atomic: boolean;
  /** The key fields of the items. Empty: the list is a set of scalars. */
  readonly keys: readonly string[];
  readonly items: MergeType;
}

/** A struct (`fields`) or a map (`values`). */
export interface MapShape {
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, MergeField>;
  /** Undefined: there are no other fields. */
  readonly values: MergeType | undefined;
}

export interface MergeField {
  readonly element: PathElement;
  readonly type: MergeType;
  /** The default of an absent key of a list item; undefined: the key is required. */
  readonly keyDefault: unknown;
}

const NO_FIELDS: ReadonlyMap<string, MergeField> = new Map();

const untypedScalar: MergeType = { scalar: 'untyped' };
const numeric: MergeType = { scalar: 'numeric' };
const text: MergeType = { scalar: 'string' };
const boolean: MergeType = { scalar: 'boolean' };

/** A free-form value that is atomic as a whole. */
export const untypedAtomic: MergeType = {
  scalar: 'untyped',
  get list(): ListShape {
    return { atomic: true, keys: [], items: untypedAtomic };
  },
  get map(): MapShape {
    return { atomic: true, fields: NO_FIELDS, values: untypedAtomic };
  },
};

/**
 * A free-form value with granular maps at every depth and atomic lists. Also the rule for objects
 * without a schema.
 */
export const deduced: MergeType = {
  scalar: 'untyped',
  list: { atomic: true, keys: [], items: untypedAtomic },
  get map(): MapShape {
    return deducedMap;
  },
};

const deducedMap: MapShape = { atomic: false, fields: NO_FIELDS, values: deduced };

const freeFormMap: MergeType = { map: { atomic: false, fields: NO_FIELDS, values: deduced } };

const scalarTypes: Readonly<Record<Scalar, MergeType>> = {
  string: text,
  bytes: text,
  duration: text,
  bool: boolean,
  int32: numeric,
  int64: numeric,
  uint8: numeric,
  uint32: numeric,
  uint64: numeric,
  double: numeric,
  quantity: untypedScalar,
  intOrString: untypedScalar,
  time: untypedScalar,
  microTime: untypedScalar,
  rawExtension: untypedAtomic,
  fieldsV1: freeFormMap,
  json: deduced,
};

const types = new WeakMap<MessageDescriptor, MergeType>();
const atomicTypes = new WeakMap<MessageDescriptor, MergeType>();

export function mergeTypeOf(message: MessageDescriptor): MergeType {
  return cached(types, message, message.structType === 'atomic');
}

function cached(
  cache: WeakMap<MessageDescriptor, MergeType>,
  message: MessageDescriptor,
  atomic: boolean,
): MergeType {
  let type = cache.get(message);
  if (type === undefined) {
    type = { map: new StructShape(message, atomic) };
    cache.set(message, type);
  }
  return type;
}

/** A struct. Types may refer to each other circularly, so its fields are computed on first use. */
class StructShape implements MapShape {
  readonly atomic: boolean;
  readonly values = undefined;
  readonly #message: MessageDescriptor;
  #fields: ReadonlyMap<string, MergeField> | undefined;

  constructor(message: MessageDescriptor, atomic: boolean) {
    this.#message = message;
    this.atomic = atomic;
  }

  get fields(): ReadonlyMap<string, MergeField> {
    this.#fields ??= new Map(this.#message.fields.map((field) => [field.name, mergeField(field)]));
    return this.#fields;
  }
}

function mergeField(field: FieldDescriptor): MergeField {
  return {
    element: fieldElement(field.name),
    type: fieldType(field),
    keyDefault: keyDefaultOf(field),
  };
}

function fieldType(field: FieldDescriptor): MergeType {
  const { type } = field;
  switch (type.kind) {
    case 'list':
      return { list: listShape(field, type.items) };
    case 'map':
      return {
        map: { atomic: field.mapType === 'atomic', fields: NO_FIELDS, values: typeOf(type.values) },
      };
    case 'message':
      if (field.mapType === undefined) return mergeTypeOf(type.message);
      return field.mapType === 'atomic'
        ? cached(atomicTypes, type.message, true)
        : { map: new StructShape(type.message, false) };
    default:
      return typeOf(type);
  }
}

/**
 * Returns the shape of a list. Without a list type it is atomic, unless strategic merge merges it.
 */
function listShape(field: FieldDescriptor, itemType: TypeRef): ListShape {
  const items = typeOf(itemType);
  switch (field.listType) {
    case 'atomic':
      return { atomic: true, keys: [], items };
    case 'set':
      return { atomic: false, keys: [], items };
    case 'map':
      return { atomic: false, keys: field.listMapKeys ?? [], items };
    case undefined: {
      const merged = field.patchStrategy?.includes('merge') ?? false;
      return {
        atomic: !merged,
        keys: field.patchMergeKey === undefined ? [] : [field.patchMergeKey],
        items,
      };
    }
  }
}

function typeOf(type: TypeRef): MergeType {
  switch (type.kind) {
    case 'scalar':
      return scalarTypes[type.scalar];
    case 'list':
      return { list: { atomic: true, keys: [], items: typeOf(type.items) } };
    case 'map':
      return { map: { atomic: false, fields: NO_FIELDS, values: typeOf(type.values) } };
    case 'message':
      return mergeTypeOf(type.message);
    case 'either':
      return deduced;
  }
}

/** Returns the default of a key. The default of an always-written field is its zero value. */
function keyDefaultOf(field: FieldDescriptor): unknown {
  if (field.default !== undefined) return field.default;
  if (field.pointer || field.omitEmpty || field.type.kind !== 'scalar') return undefined;
  switch (scalarTypes[field.type.scalar].scalar) {
    case 'string':
      return '';
    case 'numeric':
      return 0;
    case 'boolean':
      return false;
    default:
      return undefined;
  }
}

export type Shape = 'scalar' | 'list' | 'map';

/** Returns the shape of the value. For a value that fits none, it is the type's first shape. */
export function shapeOf(type: MergeType, value: unknown): Shape {
  if (value !== null && value !== undefined) {
    if (Array.isArray(value)) {
      if (type.list !== undefined) return 'list';
    } else if (typeof value === 'object') {
      if (type.map !== undefined) return 'map';
    } else if (type.scalar !== undefined) return 'scalar';
  }
  return type.map !== undefined ? 'map' : type.scalar !== undefined ? 'scalar' : 'list';
}

/** Returns the value as a list; undefined for null and other values. */
export function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? (value as readonly unknown[]) : undefined;
}

/** Returns the value as a map; undefined for null and other values. */
export function asMap(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

export function isEmptyMap(value: Readonly<Record<string, unknown>>): boolean {
  for (const key in value) if (value[key] !== undefined) return false;
  return true;
}
