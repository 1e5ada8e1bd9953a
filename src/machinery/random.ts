// Randomness for all components: UIDs, name suffixes, jitter. This file alone produces random
// numbers, so a seed replays a run. Keys and tokens come from node:crypto (see systemRandom.bytes),
// never from a seed outside of simulation.

import { randomBytes, randomFillSync } from 'node:crypto';
import { fnv32a } from './text/hash.ts';

export interface Random {
  /** Returns a number in [0, 1). */
  float(): number;
  /** Returns an integer in [0, exclusiveMax). */
  int(exclusiveMax: number): number;
  /** Returns a version 4 UUID, the form of object UIDs. */
  uuid(): string;
  /**
   * Returns `length` characters of Kubernetes' alphabet for generated names
   * (bcdfghjklmnpqrstvwxz2456789).
   */
  nameSuffix(length: number): string;
  /** Returns `length` random bytes; cryptographically strong on the system source. */
  bytes(length: number): Uint8Array;
  /**
   * Returns an independent source for one part of a program: the numbers that one part draws do not
   * change those of another. A seeded source depends on the seed and `name` only. The system source
   * returns itself.
   */
  derive(name: string): Random;
}

/**
 * The characters of generated names: no vowels and no digits that look like vowels, so that no
 * words appear.
 */
export const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Strong random 32-bit words are fetched in blocks of 1,024. */
const pool = new Uint32Array(1024);
let poolNext = pool.length;

/** Up to this many bytes are taken from the block; more are fetched directly. */
const FEW_BYTES = 64;

function systemWord(): number {
  if (poolNext === pool.length) {
    randomFillSync(pool);
    poolNext = 0;
  }
  const word = pool[poolNext]!;
  // Used words are erased.
  pool[poolNext++] = 0;
  return word;
}

/** The operating system's randomness, cryptographically strong in all methods. */
export const systemRandom: Random = {
  float: () => floatFrom(systemWord),
  int: (exclusiveMax) => intFrom(systemWord, exclusiveMax),
  uuid: () => uuidFrom(systemWord),
  nameSuffix: (length) => nameSuffixFrom(systemWord, length),
  bytes: (length) =>
    length <= FEW_BYTES ? bytesFrom(systemWord, length) : new Uint8Array(randomBytes(length)),
  derive: () => systemRandom,
};

/** The positions of a SeededRandom and of its derived sources in their sequences. */
export interface RandomState {
  readonly seed: number | string;
  readonly words: readonly [number, number, number, number];
  readonly derived: readonly (readonly [name: string, state: RandomState])[];
}

/**
 * A sequence determined by its seed, for tests and simulation. It is predictable: never use it for
 * keys or tokens.
 *
 * Algorithm: xoshiro128** 1.1 (Blackman and Vigna, 2018; period 2^128 - 1). SplitMix32 fills its
 * state from the seed; a text seed is hashed with FNV-1a (32 bits) first. The sequence of a seed is
 * part of the contract and does not change between releases.
 */
export class SeededRandom implements Random {
  readonly seed: number | string;
  /** The last derived source by name. */
  readonly #derived = new Map<string, SeededRandom>();
  /** The states of derived sources by name, until the sources are derived again. */
  readonly #continued = new Map<string, RandomState>();
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number | string) {
    this.seed = seed;
    const next = splitMix32(typeof seed === 'number' ? foldNumber(seed) : fnv32a(seed));
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next();
  }

  float(): number {
    return floatFrom(this.#word);
  }

  int(exclusiveMax: number): number {
    return intFrom(this.#word, exclusiveMax);
  }

  uuid(): string {
    return uuidFrom(this.#word);
  }

  nameSuffix(length: number): string {
    return nameSuffixFrom(this.#word, length);
  }

  bytes(length: number): Uint8Array {
    return bytesFrom(this.#word, length);
  }

  /**
   * Returns a source that depends on the seed and `name` only, not on how many numbers were drawn
   * before.
   */
  derive(name: string): SeededRandom {
    const state = this.#continued.get(name);
    this.#continued.delete(name);
    const derived =
      state === undefined
        ? new SeededRandom(`${this.seed}/${name}`)
        : SeededRandom.fromState(state);
    this.#derived.set(name, derived);
    return derived;
  }

  /**
   * Returns the position in the sequence, with the positions of the last derived source of each
   * name.
   */
  state(): RandomState {
    const derived: [string, RandomState][] = [...this.#continued];
    for (const [name, random] of this.#derived) derived.push([name, random.state()]);
    return { seed: this.seed, words: [this.#a, this.#b, this.#c, this.#d], derived };
  }

  /**
   * Returns a source that continues at a state. The first source that is derived for each name
   * continues as well.
   */
  static fromState({ seed, words, derived }: RandomState): SeededRandom {
    const random = new SeededRandom(seed);
    [random.#a, random.#b, random.#c, random.#d] = words;
    for (const [name, state] of derived) random.#continued.set(name, state);
    return random;
  }

  readonly #word = (): number => {
    const result = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const t = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= t;
    this.#d = rotateLeft(this.#d, 11);
    return result;
  };
}

/** Returns a number in [0, 1) with 53 bits from two words. */
function floatFrom(word: () => number): number {
  return ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
}

/** Returns an unbiased integer: words that would favour low results are discarded. */
function intFrom(word: () => number, exclusiveMax: number): number {
  if (!Number.isSafeInteger(exclusiveMax) || exclusiveMax <= 0) {
    throw new RangeError(`exclusiveMax must be a positive integer, not ${exclusiveMax}`);
  }
  if (exclusiveMax > 2 ** 32) return Math.floor(floatFrom(word) * exclusiveMax);
  const limit = 2 ** 32 - (2 ** 32 % exclusiveMax);
  for (;;) {
    const value = word();
    if (value < limit) return value % exclusiveMax;
  }
}

function bytesFrom(word: () => number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 4) {
    const next = word();
    for (let i = 0; i < 4 && at + i < length; i++) bytes[at + i] = next >>> (8 * i);
  }
  return bytes;
}

const HEX = Buffer.from('0123456789abcdef', 'latin1');
/**
 * Each UUID is written into this buffer and read as one text. Joining pieces costs several times as
 * much.
 */
const uuidText = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');

/** Returns a UUID of 16 bytes. The lowest byte of each word comes first. */
function uuidFrom(word: () => number): string {
  let at = 0;
  let bits = 0;
  for (let n = 0; n < 16; n++) {
    bits = n % 4 === 0 ? word() : bits >>> 8;
    let byte = bits & 0xff;
    // Sets the version and the variant.
    if (n === 6) byte = (byte & 0x0f) | 0x40;
    else if (n === 8) byte = (byte & 0x3f) | 0x80;
    if (n === 4 || n === 6 || n === 8 || n === 10) at++;
    uuidText[at++] = HEX[byte >> 4]!;
    uuidText[at++] = HEX[byte & 0x0f]!;
  }
  return uuidText.toString('latin1');
}

function nameSuffixFrom(word: () => number, length: number): string {
  let text = '';
  for (let i = 0; i < length; i++) text += NAME_ALPHABET[intFrom(word, NAME_ALPHABET.length)];
  return text;
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function splitMix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}

/** Folds all bits of a number seed: a seed may exceed 32 bits or have a fraction. */
function foldNumber(seed: number): number {
  if (Number.isInteger(seed) && Math.abs(seed) < 2 ** 32) return seed;
  return fnv32a(String(seed));
}
