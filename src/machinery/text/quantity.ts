// Quantities of resources: '100m' CPU, '1536Mi' memory. Exact decimal numbers with Kubernetes' text
// form (apimachinery pkg/api/resource), which keeps the family of the suffix.

import { LruCache } from '../collections/lru.ts';

/**
 * The family of the suffix: '12Mi' (BinarySI), '12M' (DecimalSI), '12e6' (DecimalExponent). A text
 * never mixes families.
 */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

/** The text is not a quantity. The message is upstream's. */
export class QuantityError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'QuantityError';
  }
}

/** Powers of ten for `scaledValue` and `newScaledQuantity`. */
export const NANO = -9;
export const MILLI = -3;
export const MEGA = 6;
export const GIGA = 9;
const EXA = 18;

const WRONG_FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX = "unable to parse quantity's suffix";

const MAX_INT64 = (1n << 63n) - 1n;
const MIN_INT64 = -(1n << 63n);

const BINARY_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);
const BINARY_SUFFIX_OF = ['', ...BINARY_SUFFIXES.keys()];

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const DECIMAL_SUFFIX_OF: ReadonlyMap<number, string> = new Map(
  [...DECIMAL_SUFFIXES].map(([suffix, power]) => [power, suffix]),
);

/**
 * The largest distance of powers of ten that is written out. Real quantities are far below it, and
 * a few bytes of text could otherwise fill memory.
 */
const MAX_SPREAD = 4096;

/** An immutable quantity: operations return new ones. */
export class Quantity {
  readonly format: QuantityFormat;
  /** The amount is #mantissa * 10^#exponent. */
  readonly #mantissa: bigint;
  readonly #exponent: number;
  /** The canonical text, once it was computed, or the original text if upstream keeps that. */
  #text: string | undefined;

  /**
   * Callers use `parseQuantity` and the other functions below. `text`: the canonical text, if
   * available.
   */
  constructor(mantissa: bigint, exponent: number, format: QuantityFormat, text?: string) {
    this.#mantissa = mantissa;
    this.#exponent = mantissa === 0n ? 0 : exponent;
    this.format = format;
    this.#text = text;
  }

  isZero(): boolean {
    return this.#mantissa === 0n;
  }

  sign(): -1 | 0 | 1 {
    return this.#mantissa === 0n ? 0 : this.#mantissa < 0n ? -1 : 1;
  }

  /** Returns the sum, in the format of this quantity, or of the other if this one is zero. */
  add(other: Quantity): Quantity {
    const format = this.isZero() ? other.format : this.format;
    if (other.isZero()) return new Quantity(this.#mantissa, this.#exponent, format);
    if (this.isZero()) return new Quantity(other.#mantissa, other.#exponent, format);
    const exponent = Math.min(this.#exponent, other.#exponent);
    return new Quantity(this.#at(exponent) + other.#at(exponent), exponent, format);
  }

  /**
   * Returns the difference, in the format of this quantity, or of the other if this one is zero.
   */
  sub(other: Quantity): Quantity {
    return this.add(other.neg());
  }

  neg(): Quantity {
    return new Quantity(-this.#mantissa, this.#exponent, this.format);
  }

  /** Returns this quantity times `factor` (an integer). */
  mul(factor: bigint | number): Quantity {
    return new Quantity(this.#mantissa * BigInt(factor), this.#exponent, this.format);
  }

  /**
   * Returns -1 if this quantity is less than the other, 1 if it is more, else 0. The format does
   * not matter.
   */
  cmp(other: Quantity): -1 | 0 | 1 {
    const [mine, its] = [this.sign(), other.sign()];
    if (mine !== its) return mine < its ? -1 : 1;
    if (mine === 0) return 0;
    // Lengths decide amounts that are far apart, so that no huge number is written out.
    const [myDigits, itsDigits] = [this.#magnitude(), other.#magnitude()];
    if (myDigits !== itsDigits) return myDigits < itsDigits === mine > 0 ? -1 : 1;
    const exponent = Math.min(this.#exponent, other.#exponent);
    const [a, b] = [this.#at(exponent), other.#at(exponent)];
    return a === b ? 0 : a < b ? -1 : 1;
  }

  equals(other: Quantity): boolean {
    return this.cmp(other) === 0;
  }

  /**
   * Returns the value in whole units, rounded away from zero. Exact up to 2^53; above that the
   * nearest number. Limited to the range of a 64-bit integer.
   */
  value(): number {
    return this.scaledValue(0);
  }

  /** Returns the value in thousandths, as `value` does: 1500 for '1.5'. */
  milliValue(): number {
    return this.scaledValue(MILLI);
  }

  /** Returns the value in units of 10^scale, as `value` does. */
  scaledValue(scale: number): number {
    return Number(this.scaledValueExact(scale));
  }

  /** Returns the value in units of 10^scale, rounded away from zero and limited to 64 bits. */
  scaledValueExact(scale: number): bigint {
    const shift = this.#exponent - scale;
    // Beyond 64 bits for any mantissa.
    if (shift > 19 && !this.isZero()) return this.sign() < 0 ? MIN_INT64 : MAX_INT64;
    const scaled =
      shift >= 0
        ? this.#mantissa * 10n ** BigInt(shift)
        : divideAwayFromZero(this.#mantissa, -shift);
    return scaled > MAX_INT64 ? MAX_INT64 : scaled < MIN_INT64 ? MIN_INT64 : scaled;
  }

  /** Returns the nearest number. */
  toNumber(): number {
    return Number(`${this.#mantissa}e${this.#exponent}`);
  }

  /** Returns the quantity rounded away from zero to a multiple of 10^scale. */
  roundUp(scale: number): Quantity {
    if (this.#exponent >= scale) return this;
    return new Quantity(
      divideAwayFromZero(this.#mantissa, scale - this.#exponent),
      scale,
      this.format,
    );
  }

  /**
   * Returns the canonical text: no fraction, and the largest suffix of the format's family that
   * allows it. A binary quantity below 1Ki, or with a fraction, is written as a decimal one, so
   * that nothing is lost.
   */
  toString(): string {
    this.#text ??= this.#write();
    return this.#text;
  }

  toJSON(): string {
    return this.toString();
  }

  #write(): string {
    if (this.isZero()) return '0';
    if (this.format === 'BinarySI') {
      const whole = this.#wholeUnits();
      if (whole !== undefined && (whole >= 1024n || whole <= -1024n)) return writeBinary(whole);
    }
    let { mantissa, exponent } = withoutTens(this.#mantissa, this.#exponent);
    const over = ((exponent % 3) + 3) % 3;
    mantissa *= 10n ** BigInt(over);
    exponent -= over;
    if (this.format === 'DecimalExponent')
      return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
    // E is the largest suffix; larger amounts get more digits. (Upstream leaves the suffix out, and
    // with it the magnitude.)
    if (exponent > EXA && exponent - EXA <= MAX_SPREAD) {
      mantissa *= 10n ** BigInt(exponent - EXA);
      exponent = EXA;
    }
    const suffix = DECIMAL_SUFFIX_OF.get(exponent);
    return suffix === undefined ? `${mantissa}e${exponent}` : `${mantissa}${suffix}`;
  }

  /** Returns the amount as an integer; undefined if it has a fraction or exceeds MAX_SPREAD. */
  #wholeUnits(): bigint | undefined {
    if (this.#exponent >= 0) return this.#exponent > MAX_SPREAD ? undefined : this.#at(0);
    if (-this.#exponent > MAX_SPREAD) return undefined;
    const unit = 10n ** BigInt(-this.#exponent);
    return this.#mantissa % unit === 0n ? this.#mantissa / unit : undefined;
  }

  /** Returns the mantissa for a smaller exponent. */
  #at(exponent: number): bigint {
    const spread = this.#exponent - exponent;
    if (spread > MAX_SPREAD) throw new QuantityError('quantities are too far apart in magnitude');
    return spread === 0 ? this.#mantissa : this.#mantissa * 10n ** BigInt(spread);
  }

  /** Returns the exponent of the power of ten just above the amount. */
  #magnitude(): number {
    const digits = this.#mantissa.toString().length - (this.#mantissa < 0n ? 1 : 0);
    return digits + this.#exponent;
  }
}

/**
 * A few texts are parsed again and again: '100m', '1Gi'. Quantities are immutable and can be
 * shared.
 */
const parsed = new LruCache<string, Quantity>({ capacity: 2048 });
const MAX_CACHED_LENGTH = 32;

/**
 * Parses a quantity. An amount below a billionth is rounded up to one billionth. An amount above
 * 2^63 - 1 with a binary suffix is limited to that. Throws QuantityError.
 */
export function parseQuantity(text: string): Quantity {
  if (text.length > MAX_CACHED_LENGTH) return read(text);
  const cached = parsed.get(text);
  if (cached !== undefined) return cached;
  const quantity = read(text);
  parsed.set(text, quantity);
  return quantity;
}

/** Parses a quantity; returns undefined if the text is none. */
export function tryParseQuantity(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** Whole digits that do not end in 000, with or without a decimal suffix: they are canonical. */
const SURELY_CANONICAL = /^[1-9]\d{0,13}(?<!000)[mkMG]?$/;

/**
 * Returns the text in its canonical form, as a decoder stores it. Spaces around it are removed. The
 * text of a JSON number is accepted, too. Throws QuantityError.
 */
export function canonicalizeQuantity(text: string): string {
  return SURELY_CANONICAL.test(text) ? text : parseQuantity(text.trim()).toString();
}

/** Returns a quantity of `value` (an integer) units. */
export function newQuantity(value: bigint | number, format: QuantityFormat): Quantity {
  return new Quantity(BigInt(value), 0, format);
}

/** Returns a quantity of `value` (an integer) thousandths. */
export function newMilliQuantity(value: bigint | number, format: QuantityFormat): Quantity {
  return new Quantity(BigInt(value), MILLI, format);
}

/** Returns a quantity of `value` (an integer) times 10^scale, in DecimalSI. */
export function newScaledQuantity(value: bigint | number, scale: number): Quantity {
  return new Quantity(BigInt(value), scale, 'DecimalSI');
}

/**
 * The longest text. Arithmetic takes time with the square of the digits. Upstream has no limit;
 * real numbers have fewer digits.
 */
const MAX_TEXT_LENGTH = 128;

const GRAMMAR = /^([+-]?)0*(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;

interface Suffix {
  readonly format: QuantityFormat;
  /** A power of two for BinarySI, otherwise of ten. */
  readonly power: number;
}

function readSuffix(suffix: string): Suffix {
  const decimal = DECIMAL_SUFFIXES.get(suffix);
  if (decimal !== undefined) return { format: 'DecimalSI', power: decimal };
  const binary = BINARY_SUFFIXES.get(suffix);
  if (binary !== undefined) return { format: 'BinarySI', power: binary };
  if (!/^[eE][-+]?\d{1,19}$/.test(suffix)) throw new QuantityError(WRONG_SUFFIX);
  const power = BigInt(suffix[1] === '+' ? suffix.slice(2) : suffix.slice(1));
  if (BigInt.asIntN(64, power) !== power) throw new QuantityError(WRONG_SUFFIX);
  // An exponent has 32 bits.
  return { format: 'DecimalExponent', power: Number(BigInt.asIntN(32, power)) };
}

function read(text: string): Quantity {
  if (text.length > MAX_TEXT_LENGTH)
    throw new QuantityError(`quantities must have at most ${MAX_TEXT_LENGTH} characters`);
  const parts = text === '' ? null : GRAMMAR.exec(text);
  if (parts === null) throw new QuantityError(WRONG_FORMAT);
  const negative = parts[1] === '-';
  const whole = parts[2] || '0';
  const fraction = parts[3] ?? '';
  const { format, power } = readSuffix(parts[4]!);
  const digits = whole + fraction;
  let mantissa = BigInt(digits);
  let exponent = -fraction.length;
  if (format === 'BinarySI') {
    mantissa <<= BigInt(power);
  } else {
    exponent += power;
    // Texts that upstream keeps although they are not canonical, such as '1.250': clients get them
    // back unchanged.
    const kept =
      digits.length <= 18 &&
      exponent >= NANO &&
      exponent % 3 === 0 &&
      !digits.endsWith('000') &&
      digits[0] !== '0';
    if (kept) return new Quantity(negative ? -mantissa : mantissa, exponent, format, text);
  }
  if (format === 'BinarySI' && keepsBinaryText(whole, parts[3], power)) {
    return new Quantity(negative ? -mantissa : mantissa, exponent, format, text);
  }
  if (mantissa !== 0n && exponent < NANO) {
    mantissa = divideAwayFromZero(mantissa, NANO - exponent);
    exponent = NANO;
  }
  let family: QuantityFormat = format;
  if (format === 'BinarySI' && mantissa !== 0n) {
    const unit = 10n ** BigInt(-exponent);
    if (mantissa > MAX_INT64 * unit) [mantissa, exponent] = [MAX_INT64, 0];
    // An amount below one cannot be written in powers of 1024.
    else if (mantissa < unit) family = 'DecimalSI';
  }
  return new Quantity(negative ? -mantissa : mantissa, exponent, family);
}

/**
 * Reports whether upstream keeps a text with a binary suffix unchanged ('01Gi' too): whole, not
 * divisible by 8, not too long.
 */
function keepsBinaryText(whole: string, fraction: string | undefined, power: number): boolean {
  if (fraction !== undefined && fraction !== '') return false;
  const precision = 15 - whole.length - Math.trunc(Math.fround((power * 3) / 10)) - 1;
  if (precision < 0) return false;
  return (BigInt(whole) & 7n) !== 0n && BigInt(whole) << BigInt(power) <= MAX_INT64;
}

/** Returns value / 10^places, rounded away from zero. */
function divideAwayFromZero(value: bigint, places: number): bigint {
  if (value === 0n) return 0n;
  const unit = value < 0n ? -1n : 1n;
  // A number with fewer digits than `places` is less than one.
  if (places >= value.toString().length) return unit;
  const divisor = 10n ** BigInt(places);
  const quotient = value / divisor;
  return quotient * divisor === value ? quotient : quotient + unit;
}

/** Moves all factors of ten into the exponent. */
function withoutTens(mantissa: bigint, exponent: number): { mantissa: bigint; exponent: number } {
  const zeros = /0*$/.exec(mantissa.toString())?.[0].length ?? 0;
  return zeros === 0
    ? { mantissa, exponent }
    : { mantissa: mantissa / 10n ** BigInt(zeros), exponent: exponent + zeros };
}

function writeBinary(whole: bigint): string {
  let mantissa = whole;
  let steps = 0;
  while (steps < BINARY_SUFFIX_OF.length - 1 && (mantissa & 1023n) === 0n) {
    mantissa >>= 10n;
    steps++;
  }
  return `${mantissa}${BINARY_SUFFIX_OF[steps]}`;
}
