// A set of addresses of one family that finds a free address without visiting every used one. It
// has a bit for each address, in blocks that exist only while they have a bit set.

const BLOCK_BITS = 10n;
const BLOCK_SIZE = 1 << Number(BLOCK_BITS);
const OFFSET_MASK = BigInt(BLOCK_SIZE - 1);
const WORDS = BLOCK_SIZE / 32;

interface Block {
  readonly words: Uint32Array;
  count: number;
}

export class AddressSet {
  readonly #blocks = new Map<bigint, Block>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(address: bigint): boolean {
    const block = this.#blocks.get(address >> BLOCK_BITS);
    if (block === undefined) return false;
    const offset = Number(address & OFFSET_MASK);
    return (block.words[offset >>> 5]! & (1 << (offset & 31))) !== 0;
  }

  /** Adds the address. Returns false if it is already in the set. */
  add(address: bigint): boolean {
    if (this.has(address)) return false;
    const key = address >> BLOCK_BITS;
    let block = this.#blocks.get(key);
    if (block === undefined)
      this.#blocks.set(key, (block = { words: new Uint32Array(WORDS), count: 0 }));
    const offset = Number(address & OFFSET_MASK);
    block.words[offset >>> 5] = block.words[offset >>> 5]! | (1 << (offset & 31));
    block.count++;
    this.#size++;
    return true;
  }

  /** Removes the address. Returns false if it is not in the set. */
  delete(address: bigint): boolean {
    if (!this.has(address)) return false;
    const key = address >> BLOCK_BITS;
    const block = this.#blocks.get(key)!;
    const offset = Number(address & OFFSET_MASK);
    block.words[offset >>> 5] = block.words[offset >>> 5]! & ~(1 << (offset & 31));
    if (--block.count === 0) this.#blocks.delete(key);
    this.#size--;
    return true;
  }

  /**
   * Returns the first address from `start` on that is not in the set, or else the first one from
   * `first` on; undefined if all are. Both ends are included.
   */
  firstFree(first: bigint, last: bigint, start: bigint): bigint | undefined {
    return this.#freeBetween(start, last) ?? this.#freeBetween(first, start - 1n);
  }

  #freeBetween(first: bigint, last: bigint): bigint | undefined {
    for (
      let address = first;
      address <= last;
      address = ((address >> BLOCK_BITS) + 1n) << BLOCK_BITS
    ) {
      const block = this.#blocks.get(address >> BLOCK_BITS);
      if (block === undefined) return address;
      if (block.count === BLOCK_SIZE) continue;
      const offset = freeInBlock(block.words, Number(address & OFFSET_MASK));
      if (offset === undefined) continue;
      const free = ((address >> BLOCK_BITS) << BLOCK_BITS) + BigInt(offset);
      return free <= last ? free : undefined;
    }
    return undefined;
  }
}

function freeInBlock(words: Uint32Array, from: number): number | undefined {
  for (let index = from >>> 5; index < WORDS; index++) {
    // Addresses before `from` count as used.
    const skipped = index === from >>> 5 ? (1 << (from & 31)) - 1 : 0;
    const free = ~(words[index]! | skipped);
    if (free !== 0) return index * 32 + (31 - Math.clz32(free & -free));
  }
  return undefined;
}
