// Errors about single fields of an object. Validation finds every problem and tells each with its path, so that a manifest
// is fixed once; apierrors.invalid makes a 422 of them. Meant for `import * as field`.
//
// The messages are Kubernetes' own (apimachinery pkg/util/validation/field), character for character.

import type { Steps } from '../turn.ts';
import { formatDouble, marshalJson, quote } from '../text/go-format.ts';

/** Where a field is: `new FieldPath('spec').child('containers').index(0).child('name')` reads spec.containers[0].name. */
export class FieldPath {
  readonly #text: string;

  /** `new FieldPath('spec', 'template')` is spec.template; without a name it is the object itself, whose children have no dot. */
  constructor(...names: readonly string[]) {
    this.#text = names.length === 1 ? (names[0] as string) : names.join('.');
  }

  /** A field of this one; several names go several levels down. */
  child(...names: readonly string[]): FieldPath {
    if (names.length === 1 && this.#text !== '') return new FieldPath(`${this.#text}.${names[0]}`);
    return this.#text === '' ? new FieldPath(...names) : new FieldPath(this.#text, ...names);
  }

  /** An item of this list. */
  index(index: number): FieldPath {
    return new FieldPath(`${this.#text}[${index}]`);
  }

  /** An entry of this map. */
  key(key: string): FieldPath {
    return new FieldPath(`${this.#text}[${key}]`);
  }

  toString(): string {
    return this.#text;
  }
}

/** `field.path('spec', 'template')`: short for the constructor. */
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

/** These show their detail only: the value says nothing, or is what must not be repeated. */
const WITHOUT_VALUE: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
]);

/** A bad value that is left out of the message. */
export const omitValue: unique symbol = Symbol('omitted');

/** One problem with one field. A value, not an exception: validation collects them. */
export class FieldError {
  readonly type: FieldErrorType;
  /** The path as text; '<nil>' if there was none. */
  readonly field: string;
  readonly badValue: unknown;
  readonly detail: string;

  constructor(type: FieldErrorType, at: FieldPath | undefined, badValue: unknown, detail: string) {
    this.type = type;
    this.field = at === undefined ? '<nil>' : at.toString();
    this.badValue = badValue;
    this.detail = detail;
    if (made === undefined) return;
    made.push(this);
    if (made.length >= MAX_FIELD_ERRORS) throw new TooManyFieldErrors('too many field errors');
  }

  /** The message without the field: 'Invalid value: "x": must be …'. It is what a Status cause says. */
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

/** More problems than these are not reported. Upstream reports all, which may be megabytes. */
export const MAX_FIELD_ERRORS = 1000;

/** The errors that the running `bounded` has seen being made. */
let made: FieldError[] | undefined;

/** In characters, of the expressions of an object together. Compiling them takes up to a microsecond for each. */
export const MAX_EXPRESSIONS_LENGTH = 50_000;
/** Compiling an expression takes time even if it is short. */
const EXPRESSION_OVERHEAD = 16;
/** The length of the expressions that the running `bounded` has met. */
let expressionsLength = 0;

/**
 * Counts an expression that validation is about to compile. Returns the errors (none or one) that say that the expressions of the object
 * are too long together; the expression must not be compiled then. Upstream limits each of them only.
 */
export function expressionsTooLong(at: FieldPath | undefined, expression: string): FieldErrorList {
  if (made === undefined) return [];
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
 * Returns what `validate` returns, or the first errors that it made if there are more than MAX_FIELD_ERRORS of them. Without this, a body of
 * 3 MiB could have a million errors. Errors that validation makes and drops count, too. `validate` must be synchronous.
 */
export function bounded(validate: () => FieldErrorList): FieldErrorList {
  const outer = made;
  const own: FieldError[] = [];
  const outerLength = expressionsLength;
  made = own;
  expressionsLength = 0;
  try {
    return validate();
  } catch (error) {
    if (error instanceof TooManyFieldErrors) return own;
    throw error;
  } finally {
    made = outer;
    expressionsLength = outerLength;
  }
}

/** As `bounded`, for validation in steps. */
export function* boundedSteps(steps: Steps<FieldErrorList>): Steps<FieldErrorList> {
  const own: FieldError[] = [];
  let length = 0;
  for (;;) {
    const [outer, outerLength] = [made, expressionsLength];
    made = own;
    expressionsLength = length;
    let result: IteratorResult<undefined, FieldErrorList>;
    try {
      result = steps.next();
    } catch (error) {
      if (error instanceof TooManyFieldErrors) return own;
      throw error;
    } finally {
      length = expressionsLength;
      made = outer;
      expressionsLength = outerLength;
    }
    if (result.done === true) return result.value;
    yield;
  }
}

/** Field errors as one exception, for code that has to throw. Its message is that of `aggregateMessage`. */
export class FieldErrorsError extends Error {
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[]) {
    super(aggregateMessage(errors));
    this.name = 'FieldErrorsError';
    this.errors = errors;
  }
}

/** The list's messages without repetitions: one as it is, several as '[a, b]', '' for none. */
export function aggregateMessage(errors: readonly FieldError[]): string {
  return joinMessages(new Set(errors.map((error) => error.message)));
}

/** Returns one message as it is, several as '[a, b]', '' for none. */
export function joinMessages(messages: ReadonlySet<string>): string {
  const [first = ''] = messages;
  return messages.size > 1 ? `[${[...messages].join(', ')}]` : first;
}

/** One exception for the whole list, each message once; undefined if the list is empty. */
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

/** The value has the wrong JSON type. */
export function typeInvalid(at: FieldPath | undefined, value: unknown, detail: string): FieldError {
  return new FieldError('FieldValueTypeInvalid', at, value, detail);
}

/** Returns the error for a value that names something which does not exist. */
export function notFound(at: FieldPath | undefined, value: unknown): FieldError {
  return new FieldError('FieldValueNotFound', at, value, '');
}

/** A value must be given (empty text, null and empty lists count as none). */
export function required(at: FieldPath | undefined, detail = ''): FieldError {
  return new FieldError('FieldValueRequired', at, '', detail);
}

/** The value must be unique and is there already. */
export function duplicate(at: FieldPath | undefined, value: unknown): FieldError {
  return new FieldError('FieldValueDuplicate', at, value, '');
}

/** The value is malformed or out of bounds. */
export function invalid(at: FieldPath | undefined, value: unknown, detail: string): FieldError {
  return new FieldError('FieldValueInvalid', at, value, detail);
}

/** The value is none of those that are known; `validValues` are shown in the order given. */
export function notSupported(
  at: FieldPath | undefined,
  value: unknown,
  validValues: readonly string[],
): FieldError {
  const detail =
    validValues.length === 0 ? '' : `supported values: ${validValues.map(quote).join(', ')}`;
  return new FieldError('FieldValueNotSupported', at, value, detail);
}

/** The value is well-formed, but not permitted here or now. */
export function forbidden(at: FieldPath | undefined, detail: string): FieldError {
  return new FieldError('FieldValueForbidden', at, '', detail);
}

/** Returns the error for more bytes than `maxLength` (negative: the message has no number). The value is not shown. */
export function tooLong(at: FieldPath | undefined, _value: unknown, maxLength: number): FieldError {
  return new FieldError('FieldValueTooLong', at, '<value omitted>', atMostLong(maxLength, 'byte'));
}

/** Returns the error for more characters than `maxLength` (negative: the message has no number). The value is not shown. */
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

/** Something failed that is not the user's doing. */
export function internal(at: FieldPath | undefined, error: Error): FieldError {
  return new FieldError('InternalError', at, error, error.message);
}

function atMostLong(maxLength: number, unit: string): string {
  return maxLength < 0 ? 'value is too long' : `may not be more than ${count(maxLength, unit)}`;
}

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`;
}
