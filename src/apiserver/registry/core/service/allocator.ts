// Numbers of a range that are each given out once: cluster IPs and node ports. What is taken is known from the services
// themselves (read at the first use), so that nothing leaks and nothing has to be repaired.

import type { Random } from '../../../../machinery/random.ts';

export interface NumberRange {
  /** Included. */
  readonly first: number;
  /** Included. */
  readonly last: number;
  /** Free choice begins here; the numbers below are for those who ask for one by name, as long as there are others. */
  readonly firstDynamic: number;
}

export class NumberAllocator {
  readonly #range: NumberRange;
  readonly #random: Random;
  readonly #taken = new Set<number>();

  constructor(range: NumberRange, random: Random) {
    this.#range = range;
    this.#random = random;
  }

  inRange(number: number): boolean {
    return number >= this.#range.first && number <= this.#range.last;
  }

  /** Known to be in use; also outside the range, which may have been another one once. */
  markTaken(number: number): void {
    this.#taken.add(number);
  }

  release(number: number): void {
    this.#taken.delete(number);
  }

  /** What a dry run takes stays free for others. */
  begin(dryRun: boolean): NumberTransaction {
    return new NumberTransaction(this.#range, this.#random, this.#taken, dryRun);
  }
}

/** Numbers that are taken and given back together. It ends with commit or rollback. */
export class NumberTransaction {
  readonly #range: NumberRange;
  readonly #random: Random;
  /** The allocator's. */
  readonly #all: Set<number>;
  readonly #dryRun: boolean;
  readonly #own = new Set<number>();
  readonly #given = new Set<number>();

  constructor(range: NumberRange, random: Random, all: Set<number>, dryRun: boolean) {
    this.#range = range;
    this.#random = random;
    this.#all = all;
    this.#dryRun = dryRun;
  }

  /** False if it is taken already, be it by this transaction. */
  take(number: number): boolean {
    if (this.#all.has(number) || this.#own.has(number)) return false;
    this.#own.add(number);
    if (!this.#dryRun) this.#all.add(number);
    return true;
  }

  /** A free number, taken; undefined if there is none. */
  takeAny(): number | undefined {
    const { first, last, firstDynamic } = this.#range;
    return this.#takeBetween(firstDynamic, last) ?? this.#takeBetween(first, firstDynamic - 1);
  }

  /** With the commit. */
  giveBack(number: number): void {
    this.#given.add(number);
  }

  commit(): void {
    if (this.#dryRun) return;
    for (const number of this.#given) this.#all.delete(number);
  }

  rollback(): void {
    if (this.#dryRun) return;
    for (const number of this.#own) this.#all.delete(number);
  }

  /** Begins at a random place, so that a number is not reused right after it was given back. */
  #takeBetween(first: number, last: number): number | undefined {
    const size = last - first + 1;
    if (size <= 0) return undefined;
    const offset = this.#random.int(size);
    for (let step = 0; step < size; step++) {
      const number = first + ((offset + step) % size);
      if (this.take(number)) return number;
    }
    return undefined;
  }
}
