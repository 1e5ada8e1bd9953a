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

  /** False if it is taken already. */
  take(number: number): boolean {
    if (this.#taken.has(number)) return false;
    this.#taken.add(number);
    return true;
  }

  isTaken(number: number): boolean {
    return this.#taken.has(number);
  }

  inRange(number: number): boolean {
    return number >= this.#range.first && number <= this.#range.last;
  }

  /** A free number, taken; undefined if there is none. */
  takeAny(): number | undefined {
    const { first, last, firstDynamic } = this.#range;
    return this.#takeBetween(firstDynamic, last) ?? this.#takeBetween(first, firstDynamic - 1);
  }

  release(number: number): void {
    this.#taken.delete(number);
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
