// The context of a decoder: its position (for messages), and the warnings and errors so far.

import { DecodeError, jsonKind } from './decode-error.ts';
import { MAX_QUANTITIES } from './limits.ts';

/** A field as messages name it. */
export interface FieldFrame {
  readonly name: string;
  /** The Go struct that contains the field. */
  readonly struct: string;
}

/** The limit of reported fields, as in upstream. */
const MAX_UNKNOWN_FIELDS = 100;

/**
 * The decoded fields of the current objects, outermost first: for each its place in the schema and
 * its value. All objects share one stack, since allocating two lists per object takes longer than
 * filling them.
 */
export class FieldStack {
  readonly places: number[] = [];
  readonly values: unknown[] = [];
  length = 0;

  /**
   * Inserts a field of the object that began at `from`, by its place. Fields are nearly sorted, or
   * few.
   */
  insert(from: number, place: number, value: unknown): void {
    const { places, values } = this;
    let at = this.length++;
    while (at > from && places[at - 1]! > place) {
      places[at] = places[at - 1]!;
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
  /**
   * The fields, list indices and map keys on the path to the current value. Only the first `depth`
   * are valid.
   */
  readonly #frames: (FieldFrame | number | string)[] = [];
  #depth = 0;
  /**
   * Above 0 inside a type with its own decoder, where unknown fields are dropped without a report,
   * as upstream does.
   */
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

  /** Counts a quantity before it is decoded. Throws DecodeError if there are too many. */
  countQuantity(): void {
    if (++this.#quantities > MAX_QUANTITIES) this.invalid(`limit is ${MAX_QUANTITIES} quantities`);
  }

  unknownField(name: string): void {
    if (this.#quiet > 0 || this.unknownFields.length >= MAX_UNKNOWN_FIELDS) return;
    const parent = this.path();
    this.unknownFields.push(parent === '' ? name : `${parent}.${name}`);
  }

  /** Returns the path, such as 'spec.containers[0].image'. */
  path(): string {
    let path = '';
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i];
      if (typeof frame === 'number') path += `[${frame}]`;
      else path += `${path === '' ? '' : '.'}${typeof frame === 'string' ? frame : frame?.name}`;
    }
    return path;
  }

  /** Throws the error for a value that does not fit the Go type. */
  wrongType(value: unknown, goType: string): never {
    // The message contains the value only if both the value and the Go type are numbers.
    const isNumberType =
      goType.startsWith('int') || goType.startsWith('uint') || goType.startsWith('float');
    const actual = typeof value === 'number' && isNumberType ? `number ${value}` : jsonKind(value);
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
    throw new DecodeError(`json: cannot unmarshal ${actual} into ${target}`, this.path());
  }

  /** Throws the error of a type with its own decoder, which has no field names. */
  wrongValue(value: unknown, goType: string): never {
    const actual =
      typeof value === 'number' && goType === 'int32' ? `number ${value}` : jsonKind(value);
    throw new DecodeError(
      `json: cannot unmarshal ${actual} into Go value of type ${goType}`,
      this.path(),
    );
  }

  /** Throws an error with the message of the value's own decoder. */
  invalid(message: string): never {
    throw new DecodeError(message, this.path());
  }
}
