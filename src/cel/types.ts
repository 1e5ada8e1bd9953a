// The types of the type checker. Types are values: two equal descriptions are the same type.

/** A type without parts. */
export type SimpleKind =
  | 'dyn'
  | 'any'
  | 'error'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration';

export type Type =
  | SimpleType
  | ListType
  | MapType
  | ObjectType
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly Type[] }
  /** The type of a type, such as `int`. Without `of`, of any type. */
  | { readonly kind: 'type'; readonly of?: Type }
  /** A primitive or null. */
  | { readonly kind: 'wrapper'; readonly of: Type }
  /** A parameter of a function's declaration, or a variable that the checker resolves. */
  | { readonly kind: 'parameter'; readonly name: string };

export interface SimpleType {
  readonly kind: SimpleKind;
  /** The maximal number of bytes of text; absent: unknown. For cost estimates only. */
  readonly maxLength?: number;
  /**
   * Converts a raw value of an object, which is not null. Absent: it is read by the kind of the
   * type, and an unsuitable value is left unchanged. Throws EvaluationError.
   */
  readonly read?: (raw: unknown) => unknown;
}

export interface ListType {
  readonly kind: 'list';
  readonly element: Type;
  /** The maximal number of items; absent: unknown. For cost estimates only. */
  readonly maxItems?: number;
  /**
   * The order does not matter, and items with equal values of these fields are the same. []: equal
   * items are the same.
   */
  readonly setBy?: readonly string[];
  /** A value that is not a list is an error. Default: it is left unchanged. */
  readonly strict?: boolean;
}

export interface MapType {
  readonly kind: 'map';
  readonly key: Type;
  readonly value: Type;
  readonly maxProperties?: number;
  /** A value that is not a map is an error. Default: it is left unchanged. */
  readonly strict?: boolean;
}

export interface FieldType {
  readonly type: Type;
  /** The value of an absent field. Without a default, selecting it is an error ("no such key"). */
  readonly default?: unknown;
  /** The field's name in the object, if its name in expressions differs. */
  readonly property?: string;
}

/** A struct. Fields are looked up lazily, so that types may contain themselves. */
export interface ObjectType {
  readonly kind: 'object';
  /** The name in messages and literals (`Object.spec{…}`). */
  readonly name: string;
  field(name: string): FieldType | undefined;
  /** Returns all names, if there is a fixed list. Other names are compile errors. */
  readonly fieldNames?: () => readonly string[];
  /**
   * The objects are of a custom kind: a null field is absent, they are maps at run time, and any
   * other value is an error.
   */
  readonly unstructured?: boolean;
  /** Returns the value of a literal of the type. Absent: the type has no literals. */
  readonly construct?: (fields: ReadonlyMap<string, unknown>) => unknown;
}

const simple = (kind: SimpleKind): SimpleType => ({ kind });

export const DYN = simple('dyn');
export const ANY = simple('any');
export const ERROR = simple('error');
export const NULL = simple('null');
export const BOOL = simple('bool');
export const INT = simple('int');
export const UINT = simple('uint');
export const DOUBLE = simple('double');
export const STRING = simple('string');
export const BYTES = simple('bytes');
export const TIMESTAMP = simple('timestamp');
export const DURATION = simple('duration');
export const TYPE: Type = { kind: 'type' };

export const list = (element: Type): ListType => ({ kind: 'list', element });
export const map = (key: Type, value: Type): MapType => ({ kind: 'map', key, value });
export const opaque = (name: string, ...parameters: Type[]): Type => ({
  kind: 'opaque',
  name,
  parameters,
});
export const typeOf = (of: Type): Type => ({ kind: 'type', of });
export const wrapper = (of: Type): Type => ({ kind: 'wrapper', of });
export const parameter = (name: string): Type => ({ kind: 'parameter', name });

export const OPTIONAL = 'optional_type';
export const optional = (of: Type): Type => opaque(OPTIONAL, of);
/** Returns the type inside an optional; undefined for other types. */
export const optionalOf = (type: Type): Type | undefined =>
  type.kind === 'opaque' && type.name === OPTIONAL ? type.parameters[0] : undefined;

/** Returns an object type with a fixed list of fields. */
export function object(
  name: string,
  fields: Readonly<Record<string, Type | FieldType>>,
): ObjectType {
  const byName = new Map(
    Object.entries(fields).map(([key, field]): [string, FieldType] => [
      key,
      'kind' in field ? { type: field } : field,
    ]),
  );
  return {
    kind: 'object',
    name,
    field: (key) => byName.get(key),
    fieldNames: () => [...byName.keys()],
  };
}

/** Returns a type as in messages: 'map(string, list(int))'. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.element)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case 'object':
    case 'parameter':
      return type.name;
    case 'opaque':
      return type.parameters.length === 0
        ? type.name
        : `${type.name}(${type.parameters.map(formatType).join(', ')})`;
    case 'type':
      return type.of === undefined ? 'type' : `type(${formatType(type.of)})`;
    case 'wrapper':
      return `wrapper(${formatType(type.of)})`;
    case 'error':
      return '!error!';
    default:
      return type.kind;
  }
}

/** Returns the name of a type at run time, as `string(type(x))` does. */
export function typeName(type: Type): string {
  switch (type.kind) {
    case 'null':
      return 'null_type';
    case 'timestamp':
    case 'duration':
      return `google.protobuf.${type.kind === 'timestamp' ? 'Timestamp' : 'Duration'}`;
    case 'object':
    case 'opaque':
      return type.name;
    default:
      return type.kind;
  }
}

export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  switch (a.kind) {
    case 'list':
      return b.kind === 'list' && sameType(a.element, b.element);
    case 'map':
      return b.kind === 'map' && sameType(a.key, b.key) && sameType(a.value, b.value);
    case 'object':
    case 'parameter':
      return b.kind === a.kind && a.name === b.name;
    case 'opaque':
      return (
        b.kind === 'opaque' &&
        a.name === b.name &&
        a.parameters.length === b.parameters.length &&
        a.parameters.every((parameter, index) => sameType(parameter, b.parameters[index]!))
      );
    case 'type':
      return (
        b.kind === 'type' &&
        (a.of === undefined ? b.of === undefined : b.of !== undefined && sameType(a.of, b.of))
      );
    case 'wrapper':
      return b.kind === 'wrapper' && sameType(a.of, b.of);
    default:
      return a.kind === b.kind;
  }
}

const sizes = new WeakMap<Type, number>();

/**
 * Returns the number of parts of a type when it is written out. Parts that share memory count each
 * time.
 */
export function typeSize(type: Type): number {
  const cached = sizes.get(type);
  if (cached !== undefined) return cached;
  let size = 1;
  if (type.kind === 'list') size += typeSize(type.element);
  else if (type.kind === 'map') size += typeSize(type.key) + typeSize(type.value);
  else if (type.kind === 'opaque')
    for (const parameter of type.parameters) size += typeSize(parameter);
  else if ((type.kind === 'type' || type.kind === 'wrapper') && type.of !== undefined)
    size += typeSize(type.of);
  sizes.set(type, size);
  return size;
}

/** Types whose name in messages about results differs from the one in expressions. */
const RESULT_NAMES: Readonly<Record<string, string>> = {
  null: 'null_type',
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
};

/** Returns the name of a type in messages about the result of an expression. */
export function resultTypeName(type: Type): string {
  return RESULT_NAMES[type.kind] ?? formatType(type);
}
