// Parses JSON from clients. Size, nesting and large numbers are checked before any value is
// created.

import { quote } from './go-format.ts';
import { isLargeInt64, parseWithBigints, type Span } from './json-integers.ts';
import { describeJsonSyntaxError } from './json-syntax.ts';

/** The bytes are not acceptable JSON. The message is for the client that sent them. */
export class JsonError extends Error {
  /**
   * 'syntax': no JSON. 'limit': too large or too deep. 'values': too many values. 'number': an
   * integer that a number cannot hold.
   */
  readonly kind: 'syntax' | 'limit' | 'values' | 'number';

  constructor(
    kind: 'syntax' | 'limit' | 'values' | 'number',
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.name = 'JsonError';
    this.kind = kind;
  }
}

export interface ParseJsonOptions {
  /** The maximum depth of objects and lists. Default: 256. */
  readonly maxDepth?: number;
  /** The maximum length in bytes. Default: no limit. */
  readonly maxBytes?: number;
  /** The approximate maximum number of object fields and list items together. Default: no limit. */
  readonly maxValues?: number;
  /** The bytes as text, if the caller has it already. */
  readonly text?: string;
  /**
   * Integers beyond 2^53 become bigints if an int64 can hold them, otherwise numbers, as in Go.
   * Default: they are errors.
   */
  readonly bigints?: boolean;
}

export const DEFAULT_MAX_JSON_DEPTH = 256;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/**
 * Parses UTF-8 bytes (or a text). Too deep nesting and integers beyond 2^53 are detected in one
 * pass over the bytes, before JSON.parse gets them. `__proto__` becomes an ordinary own key. Throws
 * JsonError.
 */
export function parseJson(data: Uint8Array | string, options: ParseJsonOptions = {}): unknown {
  return parseJsonCounting(data, options).value;
}

/**
 * Does the same as parseJson. `keys`: the number of keys in the text. If the value has fewer, the
 * text contains duplicate keys.
 */
export function parseJsonCounting(
  data: Uint8Array | string,
  options: ParseJsonOptions = {},
): { value: unknown; keys: number } {
  const bytes = typeof data === 'string' ? Buffer.from(data) : asBuffer(data);
  if (options.maxBytes !== undefined && bytes.length > options.maxBytes) {
    throw new JsonError('limit', `limit is ${options.maxBytes} bytes, got ${bytes.length}`);
  }
  const large: Span[] | undefined = options.bigints === true ? [] : undefined;
  const keys = scan(
    bytes,
    options.maxDepth ?? DEFAULT_MAX_JSON_DEPTH,
    options.maxValues ?? Infinity,
    large,
  );
  const text = typeof data === 'string' ? data : (options.text ?? bytes.toString('utf8'));
  try {
    const hasLarge = large !== undefined && large.length > 0;
    const value = hasLarge ? parseWithBigints(bytes, large) : (JSON.parse(text) as unknown);
    return { value: mayHaveHalves(text) ? withoutHalves(value) : value, keys };
  } catch (error) {
    throw new JsonError('syntax', describeJsonSyntaxError(text) ?? (error as Error).message, {
      cause: error,
    });
  }
}

/** Half of a surrogate pair, which is no character. */
const HALF = /[\uD800-\uDFFF]/gu;

/** Reports whether the text has escapes of surrogates. Others are decoded with the text. */
const mayHaveHalves = (text: string): boolean =>
  text.includes('\\u') && /\\u[dD][89a-fA-F]/.test(text);

/** Returns the value with replacement characters for surrogates without their other half, as in Go. */
function withoutHalves(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(HALF, '\uFFFD');
  if (Array.isArray(value)) return value.map(withoutHalves);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replaceAll(HALF, '\uFFFD'),
      withoutHalves(item),
    ]),
  );
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** The meaning of a byte for the scan. Strings are skipped; all other bytes have no meaning. */
const NOTHING = 0;
const STRING = 1;
const OPEN = 2;
const CLOSE = 3;
const DIGIT = 4;
const COLON = 5;
const COMMA = 6;
const MEANING = new Uint8Array(256);
MEANING[QUOTE] = STRING;
MEANING[0x3a] = COLON;
MEANING[0x2c] = COMMA;
for (const byte of Buffer.from('{[')) MEANING[byte] = OPEN;
for (const byte of Buffer.from('}]')) MEANING[byte] = CLOSE;
for (const byte of Buffer.from('0123456789')) MEANING[byte] = DIGIT;

/**
 * Scans brackets, digits and commas outside of strings. JSON.parse checks the syntax. Returns the
 * number of colons, which in valid JSON is the number of keys.
 */
function scan(
  bytes: Buffer,
  maxDepth: number,
  maxValues: number,
  large: Span[] | undefined,
): number {
  const length = bytes.length;
  let depth = 0;
  let colons = 0;
  // Each value is the first of its container or follows a comma.
  let values = 0;
  let at = 0;
  while (at < length) {
    const meaning = MEANING[bytes[at++]!];
    if (meaning === NOTHING) continue;
    if (meaning === STRING) {
      at = endOfString(bytes, at) + 1;
    } else if (meaning === OPEN) {
      if (++values > maxValues) throw tooManyValues(maxValues);
      if (++depth > maxDepth) throw new JsonError('limit', `exceeded max depth of ${maxDepth}`);
    } else if (meaning === CLOSE) {
      depth--;
    } else if (meaning === COLON) {
      colons++;
    } else if (meaning === COMMA) {
      if (++values > maxValues) throw tooManyValues(maxValues);
    } else {
      const start = at - 1;
      while (at < length && MEANING[bytes[at]!] === DIGIT) at++;
      if (at - start > 15) checkInteger(bytes, start, at, large);
    }
  }
  return colons;
}

function tooManyValues(limit: number): JsonError {
  return new JsonError('values', `limit is ${limit} values`);
}

/** Returns the number of keys of all objects in a JSON value. */
export function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item);
    return count;
  }
  const object = value as Readonly<Record<string, unknown>>;
  // Objects of JSON.parse inherit nothing enumerable.
  for (const key in object) {
    count++;
    const member = object[key];
    if (typeof member === 'object') count += countKeys(member);
  }
  return count;
}

/** Returns the position of the quote that ends the string, or the end of the bytes. */
function endOfString(bytes: Buffer, start: number): number {
  const length = bytes.length;
  let at = start;
  // Most strings are short, and a loop is faster than a call for them. Long ones are searched
  // natively.
  for (const near = Math.min(length, start + 64); at < near;) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    at += byte === BACKSLASH ? 2 : 1;
  }
  // The character at `at` is not escaped, so backslashes are counted from there.
  const floor = at;
  for (let from = at; ;) {
    const end = bytes.indexOf(QUOTE, from);
    if (end === -1) return length;
    let backslashes = 0;
    while (end - backslashes > floor && bytes[end - backslashes - 1] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
    from = end + 1;
  }
}

/**
 * Checks that a number can hold the digits, unless they are a part of a fraction or of a number
 * with an exponent. Adds integers that it cannot hold to `large`. Throws JsonError if `large` is
 * undefined.
 */
function checkInteger(bytes: Buffer, start: number, end: number, large: Span[] | undefined): void {
  const before = bytes[start - 1];
  const after = bytes[end];
  const isPoint = (byte: number | undefined): boolean => byte === 0x2e;
  const isExponent = (byte: number | undefined): boolean => byte === 0x65 || byte === 0x45;
  if (isPoint(before) || isPoint(after) || isExponent(after)) return;
  const text = bytes.toString('latin1', start, end);
  if (large !== undefined) {
    const from = before === MINUS ? start - 1 : start;
    // An int64 has at most 19 digits; a longer integer is a floating-point number.
    if (end - start <= 19 && isLargeInt64(bytes.toString('latin1', from, end)))
      large.push([from, end]);
  } else if (!Number.isSafeInteger(Number(text))) {
    throw new JsonError(
      'number',
      `number ${quote(text)} is out of range: integers up to 9007199254740991 are kept exactly`,
    );
  }
}
