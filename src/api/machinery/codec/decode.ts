// Converts parsed JSON to the in-memory form of an API object: unknown fields are dropped and
// reported, types checked, values canonical, zero values written or left out by the schema, fields
// in the schema's order.
//
// Empty lists and maps of the input are kept, since defaults, validation and admission distinguish
// them from missing ones. `wireForm` (wire-form.ts) removes them before the object is stored or
// sent. JSON.stringify of the wire form equals upstream's output (except for Go's escaping of <, >
// and &, and for maps whose keys look like array indices, which JavaScript always puts first).
//
// A decoder is compiled per type on first use, because every create and update decodes.

import { emptyMap, setOwn } from '#machinery/deep.ts';
import type { FieldDescriptor, MessageDescriptor, TypeRef } from '../descriptor.ts';
import { DecodeContext, FieldStack, type FieldFrame } from './decode-context.ts';
import { type Decode, goTypeName, scalarCodec } from './scalars.ts';

export interface Decoded<T = Record<string, unknown>> {
  /**
   * A new object. It shares nothing with the input except the values of free-form fields
   * (rawExtension, json, fieldsV1).
   */
  readonly object: T;
  /** Paths in the order of the input, such as 'spec.containers[0].foo'; at most 100. */
  readonly unknownFields: readonly string[];
}

/**
 * Decodes JSON (the result of JSON.parse, or an in-memory object, where undefined means absent) as
 * a type. The input is not modified. Throws DecodeError at the first value of a wrong type, with
 * upstream's message.
 */
export function decodeObject<T = Record<string, unknown>>(
  message: MessageDescriptor,
  json: unknown,
): Decoded<T> {
  const context = new DecodeContext();
  const object = decoderOf(message).decode(json, context) as T;
  return { object, unknownFields: context.unknownFields };
}

/**
 * Returns the object with its always-written fields only: `{ metadata: {}, spec: {}, status: {
 * replicas: 0 } }`.
 */
export function emptyObject<T = Record<string, unknown>>(message: MessageDescriptor): T {
  return decoderOf(message).empty() as T;
}

const decoders = new WeakMap<MessageDescriptor, MessageDecoder>();

function decoderOf(message: MessageDescriptor): MessageDecoder {
  let decoder = decoders.get(message);
  if (decoder === undefined) {
    decoder = new MessageDecoder(message);
    decoders.set(message, decoder);
  }
  return decoder;
}

interface CompiledField extends FieldFrame {
  readonly key: string;
  /** Returns undefined for an absent value (a zero that is left out). */
  readonly decode: Decode;
  /** Returns the value that replaces an absent one; undefined: none. */
  readonly fill: (() => unknown) | undefined;
}

class MessageDecoder {
  readonly #message: MessageDescriptor;
  readonly #goType: string;
  #fields: readonly CompiledField[] | undefined;
  readonly #indexByName = new Map<string, number>();
  /** Indices of the always-written fields, ascending. */
  readonly #always: number[] = [];

  constructor(message: MessageDescriptor) {
    this.#message = message;
    this.#goType = goTypeName({ kind: 'message', message });
  }

  #compile(): readonly CompiledField[] {
    this.#fields = this.#message.fields.map((field, index) => {
      this.#indexByName.set(field.name, index);
      const compiled = compileField(field, this.#message.shortName);
      if (compiled.fill !== undefined) this.#always.push(index);
      return compiled;
    });
    return this.#fields;
  }

  decode(json: unknown, context: DecodeContext): unknown {
    if (typeof json !== 'object' || Array.isArray(json)) context.wrongType(json, this.#goType);
    const fields = this.#fields ?? this.#compile();
    const present = context.fields;
    const from = present.length;
    const input = json as Record<string, unknown> | null;
    for (const key in input) {
      const index = this.#indexByName.get(key);
      if (index === undefined) {
        if (input[key] !== undefined) context.unknownField(key);
        continue;
      }
      const field = fields[index]!;
      context.push(field);
      const value = field.decode(input[key], context);
      context.pop();
      if (value !== undefined) present.insert(from, index, value);
    }
    const object = this.#build(fields, present, from);
    present.length = from;
    return object;
  }

  empty(): unknown {
    return this.#build(this.#fields ?? this.#compile(), new FieldStack(), 0);
  }

  /**
   * Builds an object from the present values (from index `from` on) and the always-written fields
   * between them.
   */
  #build(
    fields: readonly CompiledField[],
    { places, values, length }: FieldStack,
    from: number,
  ): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    let at = from;
    for (const always of this.#always) {
      for (; at < length && places[at]! < always; at++) {
        object[fields[places[at]!]!.key] = values[at];
      }
      const field = fields[always]!;
      if (at < length && places[at] === always) object[field.key] = values[at++];
      else object[field.key] = field.fill?.();
    }
    for (; at < length; at++) object[fields[places[at]!]!.key] = values[at];
    return object;
  }
}

function compileField(field: FieldDescriptor, struct: string): CompiledField {
  const decode = compileType(field.type, field.pointer, !field.pointer && field.omitEmpty);
  return {
    key: field.name,
    name: field.name,
    struct,
    decode,
    fill: field.omitEmpty ? undefined : filler(field),
  };
}

function filler(field: FieldDescriptor): () => unknown {
  const { type } = field;
  if (field.pointer) return () => null;
  switch (type.kind) {
    case 'message': {
      const decoder = decoderOf(type.message);
      return () => decoder.empty();
    }
    case 'list':
      // Validation requires that a required list has items, and iterates over it.
      return field.required && field.nullable !== true ? () => [] : () => null;
    case 'map':
      return field.required && field.nullable !== true ? () => emptyMap() : () => null;
    case 'either':
      return () => null;
    case 'scalar': {
      const { zero } = scalarCodec(type);
      return () => zero;
    }
  }
}

/**
 * Returns the decoder of a value. It returns undefined for null, and for a zero value if `omitZero`
 * is set.
 */
function compileType(type: TypeRef, pointer: boolean, omitZero: boolean): Decode {
  switch (type.kind) {
    case 'scalar': {
      const { decode, zero } = scalarCodec(type);
      if (pointer || !omitZero) return decode;
      return (value, context) => {
        const decoded = decode(value, context);
        return decoded === zero ? undefined : decoded;
      };
    }
    case 'message': {
      const decoder = decoderOf(type.message);
      return (value, context) =>
        value === null || value === undefined ? undefined : decoder.decode(value, context);
    }
    case 'list':
      return listDecoder(type);
    case 'map':
      return mapDecoder(type);
    case 'either':
      return eitherDecoder(type);
  }
}

/** Returns the decoder of a list's items or a map's values, where null becomes the zero value. */
function compileElement(type: TypeRef): Decode {
  const decode = compileType(type, false, false);
  const zero = elementZero(type);
  return (value, context) => decode(value, context) ?? zero();
}

function elementZero(type: TypeRef): () => unknown {
  switch (type.kind) {
    case 'message': {
      const decoder = decoderOf(type.message);
      return () => decoder.empty();
    }
    case 'list':
      return () => [];
    case 'map':
      return () => emptyMap();
    case 'either':
      return () => null;
    case 'scalar': {
      const { zero } = scalarCodec(type);
      return () => zero;
    }
  }
}

function listDecoder(type: TypeRef & { kind: 'list' }): Decode {
  const goType = goTypeName(type);
  const item = compileElement(type.items);
  return (value, context) => {
    if (value === null || value === undefined) return undefined;
    if (!Array.isArray(value)) return context.wrongType(value, goType);
    const list: unknown[] = [];
    for (let i = 0; i < value.length; i++) {
      context.push(i);
      list.push(item(value[i], context));
      context.pop();
    }
    return list;
  };
}

function mapDecoder(type: TypeRef & { kind: 'map' }): Decode {
  const goType = goTypeName(type);
  const element = compileElement(type.values);
  return (value, context) => {
    if (value === null || value === undefined) return undefined;
    if (typeof value !== 'object' || Array.isArray(value)) return context.wrongType(value, goType);
    const input = value as Record<string, unknown>;
    const keys = Object.keys(input);
    if (keys.length === 0) return emptyMap();
    sortKeys(keys);
    const map: Record<string, unknown> = {};
    for (const key of keys) {
      if (input[key] === undefined) continue;
      context.push(key);
      const decoded = element(input[key], context);
      context.pop();
      setOwn(map, key, decoded);
    }
    return map;
  };
}

/** Sorts the keys of a map as Go does. Most are sorted already. */
function sortKeys(keys: string[]): void {
  for (let i = 1; i < keys.length; i++) {
    if (keys[i - 1]! > keys[i]!) {
      keys.sort();
      return;
    }
  }
}

/**
 * Returns the decoder of a type with its own decoder upstream: unknown fields inside are dropped
 * without a report.
 */
function eitherDecoder(type: TypeRef & { kind: 'either' }): Decode {
  const decoder = decoderOf(type.message);
  const other = compileType(type.or, false, false);
  return (value, context) => {
    if (value === null || value === undefined) return undefined;
    context.setQuiet(true);
    const decoded =
      typeof value === 'object' && !Array.isArray(value)
        ? decoder.decode(value, context)
        : (other(value, context) ?? (Array.isArray(value) ? [] : value));
    context.setQuiet(false);
    return decoded;
  };
}
