// The errors of validating a value by its schema: with the texts of upstream's OpenAPI validator,
// and as field errors.

import * as field from '#machinery/validation/field.ts';
import type { FieldError, FieldErrorList, FieldPath } from '#machinery/validation/field.ts';

export interface ValueError {
  /** Identifies the error: upstream reports each text once. */
  readonly message: string;
  /**
   * Returns the field error. `base`: the path of the validated value; undefined for a whole object.
   */
  readonly toFieldError: (base: FieldPath | undefined) => FieldError;
}

/** The errors of one schema for one value, and the number of passed checks. */
export class ValueErrors {
  readonly #errors = new Map<string, ValueError>();

  get isValid(): boolean {
    return this.#errors.size === 0;
  }

  /** Reports whether there are more errors than are reported. */
  get isFull(): boolean {
    return this.#errors.size > field.MAX_FIELD_ERRORS;
  }

  add(error: ValueError): void {
    if (!this.#errors.has(error.message)) this.#errors.set(error.message, error);
  }

  addAll(other: ValueErrors): void {
    for (const error of other.#errors.values()) this.add(error);
  }

  toFieldErrors(base: FieldPath | undefined): FieldErrorList {
    return [...this.#errors.values()].map((error) => error.toFieldError(base));
  }
}

/** Returns an error of the value at `name`. `make` creates the field error. */
export function errorAt(
  name: string,
  message: string,
  make: (at: FieldPath | undefined) => FieldError,
): ValueError {
  return { message, toFieldError: (base) => make(pathOf(base, name)) };
}

/** Returns the error for an invalid value. `shown`: the part of it that the error contains. */
export function invalidValue(name: string, shown: unknown, message: string): ValueError {
  return errorAt(name, message, (at) => field.invalid(at, shown ?? '', message));
}

/**
 * Returns the error for a value with another type, or a text of another format. `given`: the type
 * or the text.
 */
export function wrongType(
  name: string,
  expected: string,
  given: string,
  quoted: string,
): ValueError {
  const message = `${name} in body must be of type ${expected}: ${quoted}`;
  return errorAt(name, message, (at) => field.typeInvalid(at, given, message));
}

/** Returns an error of the schema as a whole. Upstream reports such errors without a path. */
export function schemaError(message: string): ValueError {
  return { message, toFieldError: (base) => field.invalid(base, '', message) };
}

function pathOf(base: FieldPath | undefined, name: string): FieldPath | undefined {
  if (name === '' || name === '.') return base;
  return base === undefined ? field.path(name) : base.child(name);
}
