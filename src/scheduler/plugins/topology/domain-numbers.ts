// The domains of a topology as numbers, and the domain of each node of a snapshot by position:
// values that are read for hundreds of nodes per pod are in arrays, not in labels of nodes.

/** The number for nodes without a domain. */
const NONE = -1;

export class DomainNumbers {
  readonly #numbers = new Map<string, number>();
  /** By position. */
  #positions: Int32Array;
  /** By number: the number of nodes in the domain. */
  readonly #nodes: number[] = [];
  /** The number of domains with more than one node. */
  #shared = 0;

  /** Creates the numbers for a snapshot with this many nodes; no node is in a domain yet. */
  constructor(size: number) {
    this.#positions = new Int32Array(size).fill(NONE);
  }

  /** Returns the domain's number: from 0 on, in the order of first use. */
  of(domain: string): number {
    let number = this.#numbers.get(domain);
    if (number === undefined) this.#numbers.set(domain, (number = this.#numbers.size));
    return number;
  }

  /** Sets the domain of the node at this position; undefined for none. */
  put(position: number, domain: string | undefined): void {
    this.#changeNodes(this.#positions[position]!, -1);
    const number = domain === undefined ? NONE : this.of(domain);
    this.#positions[position] = number;
    this.#changeNodes(number, 1);
  }

  /** Whether every domain has at most one node. */
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
    return counts.get(this.#positions[position]!);
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
    this.#counts[number] = this.#counts[number]! + by;
  }

  /** Returns the count; 0 for a number without one, and for none. */
  get(number: number): number {
    return number < this.#counts.length && number >= 0 ? this.#counts[number]! : 0;
  }
}
