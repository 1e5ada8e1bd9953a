// A range of IP addresses, divided into pieces of equal size that are allocated one at a time.

import { isIPv4, isIPv6 } from 'node:net';

interface Range {
  readonly family: 4 | 6;
  /** The first address, as a number. */
  readonly base: bigint;
  readonly prefix: number;
}

/** Bits of the number of pieces: 100,000 nodes need 17. Upstream's limit is 16. */
const MAX_WIDTH = 20;

/** The pieces of a range, by their position in it. */
export class CidrSet {
  readonly #range: Range;
  readonly #piecePrefix: number;
  /** The number of pieces; at most 2^20, so that a set stays small. */
  readonly size: number;
  readonly #taken = new Set<number>();
  /**
   * The position where the search for a free piece begins. It moves forward, so that released
   * pieces are reused as late as possible.
   */
  #next = 0;

  /** `cidr`: '10.244.0.0/16'; `piecePrefix`: the length of each piece's prefix, such as 24. */
  constructor(cidr: string, piecePrefix: number) {
    this.#range = parseCidr(cidr);
    const bits = this.#range.family === 4 ? 32 : 128;
    const width = piecePrefix - this.#range.prefix;
    if (width < 0 || piecePrefix > bits)
      throw new RangeError(`${cidr} cannot be cut into pieces of /${piecePrefix}`);
    if (width > MAX_WIDTH)
      throw new RangeError(`${cidr} has more than 2^${MAX_WIDTH} pieces of /${piecePrefix}`);
    this.#piecePrefix = piecePrefix;
    this.size = 2 ** width;
  }

  get family(): 4 | 6 {
    return this.#range.family;
  }

  get free(): number {
    return this.size - this.#taken.size;
  }

  /**
   * Allocates the next free piece. Returns it with the number of occupied pieces that were skipped;
   * undefined if none is free.
   */
  allocate(): { readonly cidr: string; readonly passed: number } | undefined {
    if (this.free === 0) return undefined;
    let passed = 0;
    while (this.#taken.has(this.#next)) {
      this.#next = (this.#next + 1) % this.size;
      passed++;
    }
    const index = this.#next;
    this.#taken.add(index);
    this.#next = (index + 1) % this.size;
    return { cidr: this.#format(index), passed };
  }

  /**
   * Occupies the pieces that the range overlaps. Returns false if the range is not within this set.
   */
  occupy(cidr: string): boolean {
    const indices = this.#indicesOf(cidr);
    for (const index of indices) this.#taken.add(index);
    return indices.length > 0;
  }

  release(cidr: string): void {
    for (const index of this.#indicesOf(cidr)) this.#taken.delete(index);
  }

  #indicesOf(cidr: string): readonly number[] {
    const range = parseCidr(cidr);
    const { family, base } = this.#range;
    if (range.family !== family) return [];
    const size = BigInt((family === 4 ? 32 : 128) - this.#piecePrefix);
    const first = (range.base - base) >> size;
    const last =
      (range.base + (1n << BigInt((family === 4 ? 32 : 128) - range.prefix)) - 1n - base) >> size;
    if (last < 0n || first >= BigInt(this.size)) return [];
    const from = first < 0n ? 0 : Number(first);
    const to = last >= BigInt(this.size) ? this.size - 1 : Number(last);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  }

  #format(index: number): string {
    const { family, base } = this.#range;
    const bits = (family === 4 ? 32 : 128) - this.#piecePrefix;
    return `${formatAddress(base + (BigInt(index) << BigInt(bits)), family)}/${this.#piecePrefix}`;
  }
}

/** Parses a CIDR. Bits after the prefix are dropped. Throws RangeError for an invalid CIDR. */
function parseCidr(cidr: string): Range {
  const [address = '', length = ''] = cidr.split('/');
  const family = isIPv4(address) ? 4 : isIPv6(address) ? 6 : undefined;
  const prefix = /^[0-9]{1,3}$/.test(length) ? Number(length) : Number.NaN;
  const bits = family === 4 ? 32 : 128;
  if (family === undefined || !(prefix <= bits))
    throw new RangeError(`${cidr} is no range of IP addresses`);
  const host = BigInt(bits - prefix);
  return { family, base: (parseAddress(address, family) >> host) << host, prefix };
}

function parseAddress(address: string, family: 4 | 6): bigint {
  if (family === 4)
    return address.split('.').reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  // A trailing IPv4 address stands for two groups.
  const plain = address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, a: string, b: string, c: string, d: string) => {
      const group = (high: string, low: string): string =>
        ((Number(high) << 8) | Number(low)).toString(16);
      return `${group(a, b)}:${group(c, d)}`;
    },
  );
  const [head = '', tail] = plain.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [
    ...before,
    ...Array.from({ length: 8 - before.length - after.length }, () => '0'),
    ...after,
  ];
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function formatAddress(value: bigint, family: 4 | 6): string {
  if (family === 4)
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
  const groups = Array.from({ length: 8 }, (_, index) =>
    Number((value >> BigInt(112 - 16 * index)) & 0xffffn),
  );
  // RFC 5952: the longest run of two or more zero groups is left out.
  let run = { start: 0, length: 0 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > run.length) run = { start, length };
  }
  const text = (part: readonly number[]): string =>
    part.map((group) => group.toString(16)).join(':');
  if (run.length < 2) return text(groups);
  return `${text(groups.slice(0, run.start))}::${text(groups.slice(run.start + run.length))}`;
}
