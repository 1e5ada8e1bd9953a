// The forms of objects outside of the server. In memory, an empty list or map from a client differs
// from a missing one until admission is over (see decode.ts). JSON leaves out optional ones.
// Storage does not distinguish them at all: upstream stores protobuf, which has no empty lists and
// maps.

import type { FieldDescriptor, MessageDescriptor, TypeRef } from '../descriptor.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Returns the object's JSON form for policies and field managers: without empty optional lists and
 * maps, at every depth. The object must be of the message's type. It is not modified; it is
 * returned itself if nothing is left out.
 */
export function wireForm<T extends object>(message: MessageDescriptor, object: T): T {
  return trimmerOf(WIRE, message).trim(object as unknown as JsonObject) as unknown as T;
}

/**
 * Returns the form in which the object is stored and sent: does the same as `wireForm`, and
 * replaces empty lists and maps that are not optional by null.
 */
export function storedForm<T extends object>(message: MessageDescriptor, object: T): T {
  return trimmerOf(STORED, message).trim(object as unknown as JsonObject) as unknown as T;
}

/** Returns the value without its empty parts; the value itself if there are none. */
type Trim = (value: unknown) => unknown;

interface CompiledField {
  /** The replacement of an empty list or map. `KEEP`: it stays. */
  readonly empty: null | undefined | typeof KEEP;
  /** Absent: no part of the value can be left out. */
  readonly trim: Trim | undefined;
}

const KEEP = Symbol('keep');

interface Form {
  /** The form of an empty list or map that the type always writes. */
  readonly always: null | typeof KEEP;
  readonly trimmers: WeakMap<MessageDescriptor, Trimmer>;
}

const WIRE: Form = { always: KEEP, trimmers: new WeakMap() };
const STORED: Form = { always: null, trimmers: new WeakMap() };

function trimmerOf(form: Form, message: MessageDescriptor): Trimmer {
  let trimmer = form.trimmers.get(message);
  if (trimmer === undefined) {
    trimmer = new Trimmer(form, message);
    form.trimmers.set(message, trimmer);
  }
  return trimmer;
}

class Trimmer {
  readonly #form: Form;
  readonly #message: MessageDescriptor;
  /** Types may contain themselves, so their fields are compiled on first use. */
  #fields: ReadonlyMap<string, CompiledField> | undefined;

  constructor(form: Form, message: MessageDescriptor) {
    this.#form = form;
    this.#message = message;
  }

  trim(object: JsonObject): JsonObject {
    this.#fields ??= new Map(
      this.#message.fields.flatMap((field) => compileField(this.#form, field)),
    );
    let copy: Record<string, unknown> | undefined;
    // An object has few of its type's fields.
    for (const name in object) {
      const value = object[name];
      if (typeof value !== 'object' || value === null) continue;
      const field = this.#fields.get(name);
      if (field === undefined) continue;
      const { empty, trim } = field;
      if (empty !== KEEP && isEmpty(value)) {
        copy ??= { ...object };
        if (empty === null) copy[name] = null;
        else delete copy[name];
      } else if (trim !== undefined) {
        const trimmed = trim(value);
        if (trimmed !== value) (copy ??= { ...object })[name] = trimmed;
      }
    }
    return copy ?? object;
  }
}

function isEmpty(value: object): boolean {
  if (Array.isArray(value)) return value.length === 0;
  for (const _key in value) return false;
  return true;
}

function compileField(
  form: Form,
  { name, type, pointer, omitEmpty, required, nullable }: FieldDescriptor,
): [string, CompiledField][] {
  const trim = compileType(form, type);
  if (pointer || (type.kind !== 'list' && type.kind !== 'map'))
    return trim === undefined ? [] : [[name, { empty: KEEP, trim }]];
  // Validation requires items in a required list.
  const always = required && nullable !== true ? KEEP : form.always;
  return [[name, { empty: omitEmpty ? undefined : always, trim }]];
}

function compileType(form: Form, type: TypeRef): Trim | undefined {
  switch (type.kind) {
    case 'scalar':
      return undefined;
    case 'message':
    case 'either': {
      const trimmer = trimmerOf(form, type.message);
      return (value) => (isObject(value) ? trimmer.trim(value) : value);
    }
    case 'list': {
      const item = compileType(form, type.items);
      return item === undefined
        ? undefined
        : (value) => trimmedList(value as readonly unknown[], item);
    }
    case 'map': {
      const element = compileType(form, type.values);
      return element === undefined
        ? undefined
        : (value) => trimmedMap(value as JsonObject, element);
    }
  }
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function trimmedList(list: readonly unknown[], item: Trim): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const trimmed = item(list[index]);
    if (trimmed !== list[index]) (copy ??= list.slice())[index] = trimmed;
  }
  return copy ?? list;
}

function trimmedMap(map: JsonObject, element: Trim): JsonObject {
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(map)) {
    const trimmed = element(map[key]);
    // The key exists in the copy already, so `__proto__` is an ordinary key.
    if (trimmed !== map[key]) (copy ??= { ...map })[key] = trimmed;
  }
  return copy ?? map;
}
