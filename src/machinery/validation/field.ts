// Errors about single fields of an object. Validation returns every problem with its path, so that
// a manifest is fixed once; apierrors.invalid makes a 422 of them. Meant for `import * as field`.
//
// The messages are upstream's (apimachinery pkg/util/validation/field), character for character.

import type { Steps } from '../turn.ts';
import { formatDouble, marshalJson, quote } from '../text/go-format.ts';

/**
 * The path of a field: `new FieldPath('spec').child('containers').index(0).child('name')` is
 * spec.containers[0].name.
 */
export class FieldPath {
  readonly #text: string;

  /**
   * `new FieldPath('spec', 'template')` is spec.template. Without a name it is the object itself,
   * whose children have no dot.
   */
  constructor(...names: readonly string[]) {
    this.#text = names.length === 1 ? names[0]! : names.join('.');
  }

  /** Returns the path of a field of this one. Several names go several levels down. */
  child(...names: readonly string[]): FieldPath {
    if (names.length === 1 && this.#text !== '') return new FieldPath(`${this.#text}.${names[0]}`);
    return this.#text === '' ? new FieldPath(...names) : new FieldPath(this.#text, ...names);
  }

  /** Returns the path of an item of this list. */
  index(index: number): FieldPath {
    return new FieldPath(`${this.#text}[${index}]`);
  }

  /** Returns the path of an entry of this map. */
  key(key: string): FieldPath {
    return new FieldPath(`${this.#text}[${key}]`);
  }

  toString(): string {
    return this.#text;
  }
}

/** Returns a path: `field.path('spec', 'template')`, short for the constructor. */
export function path(...names: readonly string[]): FieldPath {
  return new FieldPath(...names);
}

/** The type of a field's error, as in `details.causes[].reason` of a Status. */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooShort'
  | 'FieldValueTooMany'
  | 'FieldValueTooFew'
  | 'InternalError'
  | 'FieldValueTypeInvalid';

const TITLES: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooShort: 'Too short',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  InternalError: 'Internal error',
  FieldValueTypeInvalid: 'Invalid value',
};

/** The types whose message has no value: the value adds nothing, or must not be repeated. */
const WITHOUT_VALUE: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
]);

/** Marks a bad value that is left out of the message. */
export const omitValue: unique symbol = Symbol('omitted');

/** One problem with one field. A value, not an exception: validation collects them. */
export class FieldError {
  readonly type: FieldErrorType;
  /** The path as text; '<nil>' without a path. */
  readonly field: string;
  readonly badValue: unknown;
  readonly detail: string;

  constructor(type: FieldErrorType, at: FieldPath | undefined, badValue: unknown, detail: string) {
    this.type = type;
    this.field = at === undefined ? '<nil>' : at.toString();
    this.badValue = badValue;
    this.detail = detail;
    if (createdErrors === undefined) return;
    createdErrors.push(this);
    if (createdErrors.length >= MAX_FIELD_ERRORS)
      throw new TooManyFieldErrors('too many field errors');
  }

  /** The message without the field, as in a Status cause: 'Invalid value: "x": must be …'. */
  get body(): string {
    const title = TITLES[this.type];
    const withValue =
      WITHOUT_VALUE.has(this.type) || this.badValue === omitValue
        ? title
        : `${title}: ${show(this.badValue)}`;
    return this.detail === '' ? withValue : `${withValue}: ${this.detail}`;
  }

  /** The whole message: 'spec.replicas: Invalid value: -1: must be …'. */
  get message(): string {
    return `${this.field}: ${this.body}`;
  }

  toString(): string {
    return this.message;
  }
}

export type FieldErrorList = FieldError[];

/**
 * The maximum number of reported problems. Upstream reports all of them, which may be megabytes.
 */
export const MAX_FIELD_ERRORS = 1000;

/** The errors created so far within the running `bounded`. */
let createdErrors: FieldError[] | undefined;

/**
 * The maximum length of all expressions of an object, in characters. Compiling takes up to a
 * microsecond per character.
 */
export const MAX_EXPRESSIONS_LENGTH = 50_000;
/**
 * The characters that an expression counts in addition to its own: compiling a short one takes
 * time, too.
 */
const EXPRESSION_OVERHEAD = 16;
/** The length of all expressions within the running `bounded`. */
let expressionsLength = 0;

/**
 * Counts an expression before it is compiled. Returns an error if the expressions of the object are
 * too long together; the caller must not compile the expression then. Upstream limits only each
 * single one.
 */
export function expressionsTooLong(at: FieldPath | undefined, expression: string): FieldErrorList {
  if (createdErrors === undefined) return [];
  expressionsLength += expression.length + EXPRESSION_OVERHEAD;
  if (expressionsLength <= MAX_EXPRESSIONS_LENGTH) return [];
  return [
    invalid(
      at,
      omitValue,
      `the expressions of an object must have at most ${MAX_EXPRESSIONS_LENGTH} characters in all`,
    ),
  ];
}

class TooManyFieldErrors extends Error {}

/**
 * Returns the result of `validate`, or its first MAX_FIELD_ERRORS errors if there are more. Without
 * this limit, a body of 3 MiB could have a million errors. Errors that validation creates and drops
 * count, too. `validate` must be synchronous.
 */
export function bounded(validate: () => FieldErrorList): FieldErrorList {
  const outer = createdErrors;
  const own: FieldError[] = [];
  const outerLength = expressionsLength;
  createdErrors = own;
  expressionsLength = 0;
  try {
    return validate();
  } catch (error) {
    if (error instanceof TooManyFieldErrors) return own;
    throw error;
  } finally {
    createdErrors = outer;
    expressionsLength = outerLength;
  }
}

/** Does the same as `bounded` for validation in steps. */
export function* boundedSteps(steps: Steps<FieldErrorList>): Steps<FieldErrorList> {
  const own: FieldError[] = [];
  let length = 0;
  for (;;) {
    const [outer, outerLength] = [createdErrors, expressionsLength];
    createdErrors = own;
    expressionsLength = length;
    let result: IteratorResult<undefined, FieldErrorList>;
    try {
      result = steps.next();
    } catch (error) {
      if (error instanceof TooManyFieldErrors) return own;
      throw error;
    } finally {
      length = expressionsLength;
      createdErrors = outer;
      expressionsLength = outerLength;
    }
    if (result.done === true) return result.value;
    yield;
  }
}

/** Field errors as one exception. Its message is that of `aggregateMessage`. */
export class FieldErrorsError extends Error {
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[]) {
    super(aggregateMessage(errors));
    this.name = 'FieldErrorsError';
    this.errors = errors;
  }
}

/**
 * Returns the messages of a list without repetitions: one unchanged, several as '[a, b]', '' for
 * none.
 */
export function aggregateMessage(errors: readonly FieldError[]): string {
  return joinMessages(new Set(errors.map((error) => error.message)));
}

/** Returns one message unchanged, several as '[a, b]', '' for none. */
export function joinMessages(messages: ReadonlySet<string>): string {
  const [first = ''] = messages;
  return messages.size > 1 ? `[${[...messages].join(', ')}]` : first;
}

/**
 * Returns one exception for the whole list, with each message once; undefined if the list is empty.
 */
export function toAggregate(errors: readonly FieldError[]): FieldErrorsError | undefined {
  if (errors.length === 0) return undefined;
  const first = new Map<string, FieldError>();
  for (const error of errors) if (!first.has(error.message)) first.set(error.message, error);
  return new FieldErrorsError([...first.values()]);
}

function show(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' && !Number.isInteger(value)) return formatDouble(value);
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value);
  return marshalJson(value);
}

/** Returns the error for a value of the wrong JSON type. */
export function typeInvalid(at: FieldPath | undefined, value: unknown, detail: string): FieldError {
  return new FieldError('FieldValueTypeInvalid', at, value, detail);
}

/** Returns the error for a reference to something that does not exist. */
export function notFound(at: FieldPath | undefined, value: unknown): FieldError {
  return new FieldError('FieldValueNotFound', at, value, '');
}

/** Returns the error for a missing value. Empty text, null and empty lists count as missing. */
export function required(at: FieldPath | undefined, detail = ''): FieldError {
  return new FieldError('FieldValueRequired', at, '', detail);
}

/** Returns the error for a value that must be unique and occurs before. */
export function duplicate(at: FieldPath | undefined, value: unknown): FieldError {
  return new FieldError('FieldValueDuplicate', at, value, '');
}

/** Returns the error for a malformed value, or one that is out of bounds. */
export function invalid(at: FieldPath | undefined, value: unknown, detail: string): FieldError {
  return new FieldError('FieldValueInvalid', at, value, detail);
}

/**
 * Returns the error for a value outside a closed set. `validValues` are listed in the given order.
 */
export function notSupported(
  at: FieldPath | undefined,
  value: unknown,
  validValues: readonly string[],
): FieldError {
  const detail =
    validValues.length === 0 ? '' : `supported values: ${validValues.map(quote).join(', ')}`;
  return new FieldError('FieldValueNotSupported', at, value, detail);
}

/** Returns the error for a well-formed value that is not permitted here or now. */
export function forbidden(at: FieldPath | undefined, detail: string): FieldError {
  return new FieldError('FieldValueForbidden', at, '', detail);
}

/** Returns the error for more bytes than `maxLength` (negative: the message has no number). The value is not shown. */
export function tooLong(at: FieldPath | undefined, _value: unknown, maxLength: number): FieldError {
  return new FieldError('FieldValueTooLong', at, '<value omitted>', atMostLong(maxLength, 'byte'));
}

/**
 * Returns the error for more characters than `maxLength` (negative: the message has no number). The
 * value is not shown.
 */
export function tooLongCharacters(
  at: FieldPath | undefined,
  _value: unknown,
  maxLength: number,
): FieldError {
  return new FieldError(
    'FieldValueTooLong',
    at,
    '<value omitted>',
    atMostLong(maxLength, 'character'),
  );
}

/** Returns the error for fewer characters than `minLength` (negative: the message has no number). */
export function tooShort(at: FieldPath | undefined, value: string, minLength: number): FieldError {
  const detail =
    minLength < 0 ? 'value is too short' : `must be at least ${count(minLength, 'character')}`;
  return new FieldError('FieldValueTooShort', at, value, detail);
}

/** Returns the error for a list of `actual` items, more than `max`. A negative number is left out of the message. */
export function tooMany(at: FieldPath | undefined, actual: number, max: number): FieldError {
  const detail = max < 0 ? 'has too many items' : `must have at most ${count(max, 'item')}`;
  return new FieldError('FieldValueTooMany', at, actual < 0 ? omitValue : actual, detail);
}

/** Returns the error for a list of `actual` items, fewer than `min`. A negative number is left out of the message. */
export function tooFew(at: FieldPath | undefined, actual: number, min: number): FieldError {
  const detail = min < 0 ? 'has too few items' : `must have at least ${count(min, 'item')}`;
  return new FieldError('FieldValueTooFew', at, actual < 0 ? omitValue : actual, detail);
}

/** Returns the error for an internal failure. */
export function internal(at: FieldPath | undefined, error: Error): FieldError {
  return new FieldError('InternalError', at, error, error.message);
}

function atMostLong(maxLength: number, unit: string): string {
  return maxLength < 0 ? 'value is too long' : `may not be more than ${count(maxLength, unit)}`;
}

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`;
}
