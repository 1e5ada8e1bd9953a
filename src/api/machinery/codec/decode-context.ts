// The context of a decoder: its position (for messages), and the warnings and errors so far.

import { DecodeError, jsonKind } from './decode-error.ts';
import { MAX_QUANTITIES } from './limits.ts';

/** A field as messages name it. */
export interface FieldFrame {
  readonly name: string;
  /** The Go struct that the field is in. */
  readonly struct: string;
}

/** Kubernetes stops counting there. */
const MAX_UNKNOWN_FIELDS = 100;

/**
 * The fields that were met of the objects on the way, outermost first: of each its place in the schema and its value. One stack for
 * all, since making two lists for each object takes longer than filling them.
 */
export class FieldStack {
  readonly places: number[] = [];
  readonly values: unknown[] = [];
  length = 0;

  /** Of the object that began at `from`: fields come nearly sorted, or are few. */
  insert(from: number, place: number, value: unknown): void {
    const { places, values } = this;
    let at = this.length++;
    while (at > from && (places[at - 1] as number) > place) {
      places[at] = places[at - 1] as number;
      values[at] = values[at - 1];
      at--;
    }
    places[at] = place;
    values[at] = value;
  }
}

export class DecodeContext {
  readonly fields = new FieldStack();
  readonly unknownFields: string[] = [];
  /** Fields, list indices and map keys on the way to the value being decoded; `depth` of them count. */
  readonly #frames: (FieldFrame | number | string)[] = [];
  #depth = 0;
  /** Inside a type with a decoder of its own, unknown fields are dropped without a word, as upstream does. */
  #quiet = 0;
  #quantities = 0;

  push(frame: FieldFrame | number | string): void {
    this.#frames[this.#depth++] = frame;
  }

  pop(): void {
    this.#depth--;
  }

  setQuiet(quiet: boolean): void {
    this.#quiet += quiet ? 1 : -1;
  }

  /** Counts a quantity that is about to be decoded. Throws DecodeError if there are too many. */
  countQuantity(): void {
    if (++this.#quantities > MAX_QUANTITIES) this.invalid(`limit is ${MAX_QUANTITIES} quantities`);
  }

  unknownField(name: string): void {
    if (this.#quiet > 0 || this.unknownFields.length >= MAX_UNKNOWN_FIELDS) return;
    const parent = this.path();
    this.unknownFields.push(parent === '' ? name : `${parent}.${name}`);
  }

  /** 'spec.containers[0].image' */
  path(): string {
    let path = '';
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i];
      if (typeof frame === 'number') path += `[${frame}]`;
      else path += `${path === '' ? '' : '.'}${typeof frame === 'string' ? frame : frame?.name}`;
    }
    return path;
  }

  /** The value is not of the Go type. */
  wrongType(value: unknown, goType: string): never {
    // A number that is one, but not of the right sort, is told in full.
    const isNumberType =
      goType.startsWith('int') || goType.startsWith('uint') || goType.startsWith('float');
    const found = typeof value === 'number' && isNumberType ? `number ${value}` : jsonKind(value);
    let target = `Go value of type ${goType}`;
    const names: string[] = [];
    let struct = '';
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i];
      if (typeof frame === 'object') {
        names.push(frame.name);
        struct = frame.struct;
      }
    }
    if (names.length > 0) target = `Go struct field ${struct}.${names.join('.')} of type ${goType}`;
    throw new DecodeError(`json: cannot unmarshal ${found} into ${target}`, this.path());
  }

  /** The value is read by its type's own decoder, which knows no field names. */
  wrongValue(value: unknown, goType: string): never {
    const found =
      typeof value === 'number' && goType === 'int32' ? `number ${value}` : jsonKind(value);
    throw new DecodeError(
      `json: cannot unmarshal ${found} into Go value of type ${goType}`,
      this.path(),
    );
  }

  /** The value's own decoder refused it, in its own words. */
  invalid(message: string): never {
    throw new DecodeError(message, this.path());
  }
}
