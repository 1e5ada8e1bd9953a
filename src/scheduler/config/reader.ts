// Reads configuration written by users: every problem is reported with its path, and nothing is
// silently ignored.

import * as field from '#machinery/validation/field.ts';
import { isPlainObject } from '#machinery/deep.ts';

/** An invalid configuration; the message lists every problem. */
export class ConfigurationError extends Error {
  readonly errors: readonly field.FieldError[];

  constructor(what: string, errors: readonly field.FieldError[]) {
    super(`${what}: ${field.aggregateMessage(errors)}`);
    this.name = 'ConfigurationError';
    this.errors = errors;
  }
}

/**
 * One value of the configuration. A value of the wrong type is added to the errors and then treated
 * as absent.
 */
export class ConfigReader {
  readonly path: field.FieldPath;
  readonly errors: field.FieldError[];
  readonly #value: unknown;

  constructor(value: unknown, path: field.FieldPath, errors: field.FieldError[] = []) {
    this.#value = value ?? undefined;
    this.path = path;
    this.errors = errors;
  }

  get raw(): unknown {
    return this.#value;
  }

  get present(): boolean {
    return this.#value !== undefined;
  }

  /** Declares that the value is an object with these fields; any other field is an error. */
  fields(...known: readonly string[]): this {
    if (this.#value === undefined) return this;
    if (!isPlainObject(this.#value)) {
      this.errors.push(field.typeInvalid(this.path, this.#value, 'must be an object'));
      return this;
    }
    for (const name of Object.keys(this.#value)) {
      if (!known.includes(name))
        this.errors.push(field.forbidden(this.child(name).path, `unknown field "${name}"`));
    }
    return this;
  }

  child(name: string): ConfigReader {
    const value =
      isPlainObject(this.#value) && Object.hasOwn(this.#value, name)
        ? this.#value[name]
        : undefined;
    return new ConfigReader(value, this.path.child(name), this.errors);
  }

  items(): ConfigReader[] {
    if (this.#value === undefined) return [];
    if (!Array.isArray(this.#value)) {
      this.errors.push(field.typeInvalid(this.path, this.#value, 'must be a list'));
      return [];
    }
    return this.#value.map(
      (item: unknown, index) => new ConfigReader(item, this.path.index(index), this.errors),
    );
  }

  string(): string | undefined {
    if (this.#value === undefined || typeof this.#value === 'string') return this.#value;
    this.errors.push(field.typeInvalid(this.path, this.#value, 'must be a string'));
    return undefined;
  }

  /** Returns a required string. Returns '' if it is missing, which is an error. */
  requiredString(): string {
    const value = this.string();
    if (value === undefined || value === '') this.errors.push(field.required(this.path));
    return value ?? '';
  }

  oneOf<T extends string>(...values: readonly T[]): T | undefined {
    const value = this.string();
    if (value === undefined) return undefined;
    const known = values.find((candidate) => candidate === value);
    if (known === undefined) this.errors.push(field.notSupported(this.path, value, values));
    return known;
  }

  boolean(): boolean | undefined {
    if (this.#value === undefined || typeof this.#value === 'boolean') return this.#value;
    this.errors.push(field.typeInvalid(this.path, this.#value, 'must be true or false'));
    return undefined;
  }

  /** Returns an integer. `why`: the message for a number outside of `min` to `max`. */
  integer(
    min: number,
    max: number,
    why = `not in valid range [${min}, ${max}]`,
  ): number | undefined {
    if (this.#value === undefined) return undefined;
    if (typeof this.#value !== 'number' || !Number.isInteger(this.#value)) {
      this.errors.push(field.typeInvalid(this.path, this.#value, 'must be an integer'));
      return undefined;
    }
    if (this.#value < min || this.#value > max) {
      this.errors.push(field.invalid(this.path, this.#value, why));
      return undefined;
    }
    return this.#value;
  }

  /** Throws if there are errors so far. */
  check(what: string): void {
    if (this.errors.length > 0) throw new ConfigurationError(what, this.errors);
  }
}
