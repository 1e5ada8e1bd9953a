// The domains of one topology as numbers, and the domain of each node of a snapshot by its
// position: what is asked of hundreds of nodes for every pod goes through arrays then, not through
// each node's labels.

/** The nodes that are in no domain. */
const NONE = -1;

export class DomainNumbers {
  readonly #numbers = new Map<string, number>();
  /** By position. */
  #positions: Int32Array;
  /** By number: how many nodes are in the domain. */
  readonly #nodes: number[] = [];
  /** How many domains have more than one node. */
  #shared = 0;

  /** Creates the numbers for a snapshot with this many nodes, none of which is in a domain yet. */
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
    this.#changeNodes(this.#positions[position] as number, -1);
    const number = domain === undefined ? NONE : this.of(domain);
    this.#positions[position] = number;
    this.#changeNodes(number, 1);
  }

  /** No two nodes are in the same domain. */
  get separate(): boolean {
    return this.#shared === 0;
  }

  #changeNodes(number: number, by: 1 | -1): void {
    if (number === NONE) return;
    const before = this.#nodes[number] ?? 0;
    this.#nodes[number] = before + by;
    if (before === 1 && by === 1) this.#shared++;
    else if (before === 2 && by === -1) this.#shared--;
  }

  /** Returns the count of the domain of the node at this position. */
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
