// The domains of one topology as numbers, and the domain of each node of a snapshot by its position: what is asked of hundreds of
// nodes for every pod goes through arrays then, not through each node's labels.

/** The nodes that are in no domain. */
const NONE = -1;

export class DomainNumbers {
  readonly #numbers = new Map<string, number>();
  /** By position. */
  #positions: Int32Array;

  /** Of a snapshot with so many nodes, none of which is in a domain yet. */
  constructor(size: number) {
    this.#positions = new Int32Array(size).fill(NONE);
  }

  /** The domain's number: from 0 on, in the order in which they are first met. */
  of(domain: string): number {
    let number = this.#numbers.get(domain);
    if (number === undefined) this.#numbers.set(domain, (number = this.#numbers.size));
    return number;
  }

  /** `domain`: where the node at this position is; undefined for nowhere. */
  put(position: number, domain: string | undefined): void {
    this.#positions[position] = domain === undefined ? NONE : this.of(domain);
  }

  /** What is counted in the domain of the node at this position. */
  count(position: number, counts: NumberedCounts): number {
    return counts.get(this.#positions[position] as number);
  }
}

/** Counts by the number of a domain. */
export class NumberedCounts {
  #counts = new Int32Array(64);

  add(number: number, by: number): void {
    if (number >= this.#counts.length) {
      const more = new Int32Array(2 * number);
      more.set(this.#counts);
      this.#counts = more;
    }
    this.#counts[number] = (this.#counts[number] as number) + by;
  }

  /** 0 for a number of which nothing was counted, and for none. */
  get(number: number): number {
    return number < this.#counts.length && number >= 0 ? (this.#counts[number] as number) : 0;
  }
}
