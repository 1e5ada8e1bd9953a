// Converts an in-memory object to values of its declared type, lazily. Types whose JSON already is
// the value (text, ints, structs and lists of such) are passed unchanged. Others are wrapped, and
// their parts are converted on access.

import { evaluationError } from './errors.ts';
import { parseDuration, parseTimestamp } from './standard/time-text.ts';
import { notAList, notAMap } from './schema-values.ts';
import type { ListType, MapType, ObjectType, Type } from './types.ts';
import {
  AbstractMap,
  adaptDynamic,
  CelObject,
  Double,
  isList,
  isMap,
  isPlainObject,
  listItems,
  ListValue,
  mapGet,
  mapKeys,
  normalizeInt,
  Uint,
  type Value,
} from './values.ts';
import { WorkLimit } from './work-limit.ts';

type Adapter = (raw: unknown) => Value;

/** The adapter of types that need the general conversion of JSON only. */
const asIs: Adapter = adaptDynamic;

const adapters = new WeakMap<Type, Adapter>();

/**
 * Returns the function that converts raw JSON to values of the type. It throws EvaluationError for
 * unsuitable values; null stays null.
 */
export function adapterOf(type: Type): Adapter {
  const cached = adapters.get(type);
  if (cached !== undefined) return cached;
  const adapter = makeAdapter(type);
  adapters.set(type, adapter);
  return adapter;
}

function makeAdapter(type: Type): Adapter {
  if ('read' in type && type.read !== undefined) return scalar(type.read);
  if (isPlain(type, new Set())) return asIs;
  switch (type.kind) {
    case 'double':
      return scalar((raw) => (typeof raw === 'number' ? new Double(raw) : raw));
    case 'int':
      return scalar((raw) => (typeof raw === 'bigint' ? normalizeInt(raw) : adaptDynamic(raw)));
    case 'uint':
      return scalar((raw) =>
        typeof raw === 'number' || typeof raw === 'bigint' ? Uint.checked(BigInt(raw)) : raw,
      );
    case 'bytes':
      return text((raw) => Uint8Array.from(Buffer.from(raw, 'base64')));
    case 'timestamp':
      return text(parseTimestamp);
    case 'duration':
      return text(parseDuration);
    case 'wrapper':
      return adapterOf(type.of);
    case 'list':
      return listAdapter(type);
    case 'map':
      return mapAdapter(type);
    case 'object':
      if (type.unstructured === true)
        return scalar((raw) => new UnstructuredObject(mapOrThrow(raw), type));
      return scalar((raw) => (isPlainObject(raw) ? new AdaptedObject(raw, type) : raw));
    default:
      return asIs;
  }
}

const scalar =
  (adapt: Adapter): Adapter =>
  (raw) =>
    raw === null || raw === undefined ? null : adapt(raw);

function listAdapter({ element, setBy, strict }: ListType): Adapter {
  const adapt = adapterOf(element);
  return scalar((raw) => {
    if (Array.isArray(raw)) return new AdaptedList(raw, adapt, setBy);
    if (strict === true) throw notAList();
    return raw;
  });
}

function mapAdapter({ value, strict }: MapType): Adapter {
  const adapt = adapterOf(value);
  return scalar((raw) =>
    strict === true || isPlainObject(raw) ? new AdaptedMap(mapOrThrow(raw), adapt) : raw,
  );
}

function mapOrThrow(raw: unknown): Readonly<Record<string, unknown>> {
  if (!isPlainObject(raw)) throw notAMap();
  return raw;
}

const text = (parse: (text: string) => Value): Adapter =>
  scalar((raw) => (typeof raw === 'string' ? parse(raw) : raw));

/**
 * Reports whether values of the type need no conversion. `open`: types whose check is in progress;
 * they count as plain meanwhile.
 */
function isPlain(type: Type, open: Set<string>): boolean {
  if ('read' in type && type.read !== undefined) return false;
  switch (type.kind) {
    case 'double':
    case 'uint':
    case 'bytes':
    case 'timestamp':
    case 'duration':
    case 'int':
      // An int may be a bigint; lists and structs of plain values contain none.
      return type.kind === 'int';
    case 'wrapper':
      return isPlain(type.of, open);
    case 'list':
      return type.setBy === undefined && type.strict !== true && isPlain(type.element, open);
    case 'map':
      return type.strict !== true && isPlain(type.value, open);
    case 'object': {
      if (type.unstructured === true) return false;
      if (open.has(type.name)) return true;
      const names = type.fieldNames?.();
      if (names === undefined) return false;
      open.add(type.name);
      return names.every((name) => {
        const field = type.field(name)!;
        return (
          field.default === undefined && field.property === undefined && isPlain(field.type, open)
        );
      });
    }
    default:
      return true;
  }
}

class AdaptedList extends ListValue {
  readonly #raw: readonly unknown[];
  readonly #adapt: Adapter;
  override readonly setBy: readonly string[] | undefined;

  constructor(raw: readonly unknown[], adapt: Adapter, setBy: readonly string[] | undefined) {
    super();
    this.#raw = raw;
    this.#adapt = adapt;
    this.setBy = setBy;
  }

  get size(): number {
    return this.#raw.length;
  }

  at(index: number): Value {
    return this.#adapt(this.#raw[index]);
  }
}

class AdaptedMap extends AbstractMap {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #adapt: Adapter;

  constructor(raw: Readonly<Record<string, unknown>>, adapt: Adapter) {
    super();
    this.#raw = raw;
    this.#adapt = adapt;
  }

  get size(): number {
    return Object.keys(this.#raw).length;
  }

  get(key: Value): Value {
    if (typeof key !== 'string' || !Object.hasOwn(this.#raw, key)) return undefined;
    return this.#adapt(this.#raw[key]);
  }

  keys(): Iterable<Value> {
    return mapKeys(this.#raw);
  }
}

class AdaptedObject extends AbstractMap {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #type: ObjectType;

  constructor(raw: Readonly<Record<string, unknown>>, type: ObjectType) {
    super();
    this.#raw = raw;
    this.#type = type;
  }

  override get type(): Type {
    return this.#type;
  }

  get size(): number {
    return this.#names().length;
  }

  get(key: Value): Value {
    if (typeof key !== 'string') return undefined;
    const field = this.#type.field(key);
    if (field === undefined) return undefined;
    const property = field.property ?? key;
    if (!Object.hasOwn(this.#raw, property) || this.#raw[property] === undefined)
      return field.default;
    return adapterOf(field.type)(this.#raw[property]);
  }

  override has(key: Value): boolean {
    if (typeof key !== 'string') return false;
    const property = this.#type.field(key)?.property ?? key;
    return Object.hasOwn(this.#raw, property) && this.#raw[property] !== undefined;
  }

  keys(): Iterable<Value> {
    return this.#names();
  }

  /**
   * Returns the names as expressions write them. Fields that the type does not declare are
   * invisible.
   */
  #names(): string[] {
    return (this.#type.fieldNames?.() ?? Object.keys(this.#raw)).filter((name) => this.has(name));
  }
}

/**
 * An object of a custom kind, or a part of one, with the type of its schema. Null fields count as
 * absent, except for the size. Fields without a schema are invisible, but are compared.
 */
class UnstructuredObject extends AbstractMap {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #type: ObjectType;

  constructor(raw: Readonly<Record<string, unknown>>, type: ObjectType) {
    super();
    this.#raw = raw;
    this.#type = type;
  }

  get size(): number {
    return Object.keys(this.#raw).length;
  }

  get(key: Value): Value {
    const field = typeof key === 'string' ? this.#type.field(key) : undefined;
    if (field === undefined) return undefined;
    const raw = this.#rawOf(field.property ?? (key as string));
    return raw === undefined || raw === null ? undefined : adapterOf(field.type)(raw);
  }

  override has(key: Value): boolean {
    const field = typeof key === 'string' ? this.#type.field(key) : undefined;
    return field !== undefined && (this.#rawOf(field.property ?? (key as string)) ?? null) !== null;
  }

  keys(): Iterable<Value> {
    return (this.#type.fieldNames?.() ?? []).filter((name) => this.has(name));
  }

  override isEqualTo(other: AbstractMap, equal: (a: Value, b: Value) => boolean): boolean {
    if (this.size !== other.size) return false;
    const names = this.#type.fieldNames?.() ?? [];
    for (const name of names) {
      if (this.has(name) !== other.has(name)) return false;
      if (this.has(name) && !equal(this.get(name), other.get(name))) return false;
    }
    if (!(other instanceof UnstructuredObject)) return true;
    const seen = new Set(names.map((name) => this.#type.field(name)?.property ?? name));
    // As in upstream, unknown fields of only one of the objects are not compared.
    return Object.keys(this.#raw).every((name) => {
      const theirs = seen.has(name) ? undefined : other.#rawOf(name);
      return theirs === undefined || equal(this.#raw[name], theirs);
    });
  }

  #rawOf(property: string): unknown {
    return Object.hasOwn(this.#raw, property) ? this.#raw[property] : undefined;
  }
}

/**
 * Returns a value as plain JSON, for patches, messages and statuses. Throws EvaluationError for
 * values without a JSON form, or with too many parts.
 */
export function toJson(value: Value, limit: WorkLimit = new WorkLimit()): unknown {
  limit.part();
  if (typeof value === 'bigint') throw evaluationError('integer is too large for JSON');
  if (value instanceof Double) return value.value;
  if (isList(value)) return listItems(value).map((item) => toJson(item, limit));
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (isMap(value)) {
    const entries: [string, unknown][] = [];
    for (const key of mapKeys(value)) {
      if (typeof key !== 'string')
        throw evaluationError(`map key ${JSON.stringify(toJson(key, limit))} is not a string`);
      entries.push([key, toJson(mapGet(value, key), limit)]);
    }
    return Object.fromEntries(entries);
  }
  if (value instanceof CelObject)
    throw evaluationError(`a value of type ${value.type.kind} has no JSON`);
  return value;
}
