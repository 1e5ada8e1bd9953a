// Fills any type with seeded random values, in the form in which objects are stored: they must
// survive a codec or a conversion in both directions. For tests.

import { setOwn } from '#machinery/deep.ts';
import type { Random } from '#machinery/random.ts';
import type {
  FieldDescriptor,
  MessageDescriptor,
  Scalar,
  TypeRef,
} from '../machinery/descriptor.ts';

export interface FuzzOptions {
  /** The probability that an optional field is present. Default: 0.5. */
  readonly presence?: number;
  /** The maximum number of items of a list or map. Default: 3. */
  readonly maxItems?: number;
  /** The depth at which optional fields become absent. Default: 8. */
  readonly maxDepth?: number;
}

export function fuzzObject<T = Record<string, unknown>>(
  message: MessageDescriptor,
  random: Random,
  options: FuzzOptions = {},
): T {
  return new Fuzzer(random, options).message(message, 0) as T;
}

class Fuzzer {
  readonly #random: Random;
  readonly #presence: number;
  readonly #maxItems: number;
  readonly #maxDepth: number;

  constructor(random: Random, { presence = 0.5, maxItems = 3, maxDepth = 8 }: FuzzOptions) {
    this.#random = random;
    this.#presence = presence;
    this.#maxItems = maxItems;
    this.#maxDepth = maxDepth;
  }

  message(message: MessageDescriptor, depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const field of message.fields) {
      const value = this.#field(field, depth + 1, message.gvk);
      if (value !== undefined) object[field.name] = value;
    }
    return object;
  }

  #field(field: FieldDescriptor, depth: number, gvk: MessageDescriptor['gvk']): unknown {
    if (
      gvk !== undefined &&
      field.number === 0 &&
      (field.name === 'kind' || field.name === 'apiVersion')
    ) {
      // An object inside another one, such as a list item, has no type fields.
      if (depth > 1) return undefined;
      if (field.name === 'kind') return gvk.kind;
      return gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`;
    }
    const present = depth < this.#maxDepth && this.#random.float() < this.#presence;
    if (!present) return this.#absent(field, depth);
    const value = this.#value(field.type, depth);
    if (isEmpty(field.type, value) && !field.pointer) return this.#absent(field, depth);
    return value;
  }

  /** Returns the representation of an absent value. */
  #absent(
    { type, omitEmpty, pointer, required, nullable }: FieldDescriptor,
    depth: number,
  ): unknown {
    if (omitEmpty) return undefined;
    if (pointer || type.kind === 'either') return null;
    if (type.kind === 'message') return this.message(type.message, depth);
    if (type.kind === 'scalar') return zeros[type.scalar];
    if (!required || nullable === true) return null;
    return type.kind === 'list' ? [] : {};
  }

  #value(type: TypeRef, depth: number): unknown {
    switch (type.kind) {
      case 'scalar':
        return type.values !== undefined && this.#random.float() < 0.8
          ? this.#oneOf(type.values)
          : this.#scalar(type.scalar);
      case 'message':
        return this.message(type.message, depth);
      case 'either': {
        if (this.#random.float() < 0.5) return this.message(type.message, depth);
        return this.#value(type.or, depth);
      }
      case 'list':
        return Array.from({ length: this.#random.int(this.#maxItems + 1) }, () =>
          this.#value(type.items, depth + 1),
        );
      case 'map': {
        const map: Record<string, unknown> = {};
        const keys = Array.from({ length: this.#random.int(this.#maxItems + 1) }, () =>
          this.#key(),
        );
        for (const key of keys.sort()) setOwn(map, key, this.#value(type.values, depth + 1));
        return map;
      }
    }
  }

  #scalar(scalar: Scalar): unknown {
    const random = this.#random;
    switch (scalar) {
      case 'string':
        return this.#text();
      case 'bool':
        return random.float() < 0.5;
      case 'int32':
        return random.int(2) === 0 ? random.int(100) : random.int(2 ** 32) - 2 ** 31;
      case 'int64':
        return random.int(2) === 0
          ? random.int(100)
          : (random.int(2) * 2 - 1) * (random.int(2 ** 21) * 2 ** 32 + random.int(2 ** 32));
      case 'uint8':
        return random.int(256);
      case 'uint32':
      case 'uint64':
        return random.int(2 ** 32);
      case 'double':
        return (random.float() - 0.5) * 10 ** random.int(20);
      case 'bytes':
        return Buffer.from(random.bytes(random.int(20))).toString('base64');
      case 'quantity':
        return this.#quantity();
      case 'time':
        return `${this.#seconds()}Z`;
      case 'microTime':
        return `${this.#seconds()}.${String(random.int(1_000_000)).padStart(6, '0')}Z`;
      case 'duration':
        return this.#oneOf(['0s', '1h30m0s', '-1.5s', '20ms', '300µs', '7ns']);
      case 'intOrString':
        return random.int(2) === 0 ? random.int(65_536) : `${random.int(101)}%`;
      case 'rawExtension':
        return { apiVersion: 'example.com/v1', kind: 'CustomType', [this.#key()]: this.#json(0) };
      case 'json':
        return this.#json(0) ?? false;
      case 'fieldsV1':
        return { 'f:metadata': { [`f:${this.#key()}`]: {} }, 'k:{"name":"a"}': { '.': {} } };
    }
  }

  /**
   * Returns a text, sometimes with characters that are difficult to encode: quotes, line breaks,
   * characters beyond ASCII and beyond 16 bits.
   */
  #text(): string {
    const length = this.#random.int(12);
    let text = '';
    for (let i = 0; i < length; i++)
      text +=
        this.#random.int(8) === 0
          ? this.#oneOf([...'"\\\n\t<&>é€\u2028', '😀'])
          : this.#oneOf([...'abcxyz019-._/ ']);
    return text;
  }

  /** Returns a key that never consists of digits: JavaScript would put it first. */
  #key(): string {
    return this.#random.int(20) === 0
      ? '__proto__'
      : `${this.#oneOf([...'abcxyzABC'])}${this.#random.nameSuffix(this.#random.int(6))}`;
  }

  #quantity(): string {
    const number = 1 + 2 * this.#random.int(400);
    return `${number}${this.#oneOf(['', 'm', 'u', 'n', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti'])}`;
  }

  #seconds(): string {
    return new Date(this.#random.int(2 ** 32) * 1000).toISOString().slice(0, 19);
  }

  #json(depth: number): unknown {
    switch (this.#random.int(depth > 2 ? 4 : 6)) {
      case 0:
        return null;
      case 1:
        return this.#random.float() < 0.5;
      case 2:
        return this.#random.int(1000) / 8;
      case 3:
        return this.#text();
      case 4:
        return [this.#json(depth + 1), this.#json(depth + 1)];
      default:
        return { [this.#key()]: this.#json(depth + 1) };
    }
  }

  #oneOf<V>(values: readonly V[]): V {
    return values[this.#random.int(values.length)]!;
  }
}

const zeros: Readonly<Record<Scalar, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  uint8: 0,
  uint32: 0,
  uint64: 0,
  double: 0,
  bytes: '',
  quantity: '0',
  time: null,
  microTime: null,
  duration: '0s',
  intOrString: 0,
  rawExtension: null,
  json: null,
  fieldsV1: null,
};

function isEmpty(type: TypeRef, value: unknown): boolean {
  if (type.kind === 'list') return (value as unknown[]).length === 0;
  if (type.kind === 'map') return Object.keys(value as object).length === 0;
  return value === '' || value === 0 || value === false;
}

/**
 * Kinds of which only objects that were converted once survive further conversions. autoscaling/v1
 * keeps metrics in annotations and loses meaningless combinations (a target without a type, with
 * three values). resource/v1beta1 has texts and booleans in the place of pointers, so that empty
 * values are absent there.
 */
const SETTLE_FIRST: ReadonlySet<string> = new Set([
  'autoscaling/HorizontalPodAutoscaler',
  'resource.k8s.io/ResourceClaim',
  'resource.k8s.io/ResourceClaimTemplate',
  'resource.k8s.io/ResourceSlice',
]);

/** Reports whether only objects that were converted once survive further conversions. */
export function settlesFirst({ gvk }: MessageDescriptor): boolean {
  return SETTLE_FIRST.has(`${gvk?.group ?? ''}/${gvk?.kind ?? ''}`);
}
