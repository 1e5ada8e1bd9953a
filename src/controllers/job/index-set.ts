// Sets of completion indexes, in the form of a job's status: '0-2,5'.

export class IndexSet {
  readonly #members: Set<number>;

  constructor(members: Iterable<number> = []) {
    this.#members = new Set(members);
  }

  /**
   * Parses a text that the server has validated. Invalid parts, and indexes that are not below
   * `limit`, are left out.
   */
  static parse(text: string | undefined, limit = Number.POSITIVE_INFINITY): IndexSet {
    const members: number[] = [];
    for (const part of (text ?? '').split(',')) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (match === null) continue;
      const first = Number(match[1]);
      const last = Math.min(Number(match[2] ?? match[1]), limit - 1);
      for (let index = first; index <= last; index++) members.push(index);
    }
    return new IndexSet(members);
  }

  get size(): number {
    return this.#members.size;
  }

  has(index: number): boolean {
    return this.#members.has(index);
  }

  with(indexes: Iterable<number>): IndexSet {
    return new IndexSet([...this.#members, ...indexes]);
  }

  values(): readonly number[] {
    return [...this.#members].sort((a, b) => a - b);
  }

  toString(): string {
    const parts: string[] = [];
    let first: number | undefined;
    let last = -1;
    const end = (): void => {
      if (first === undefined) return;
      // Two consecutive indexes are written without a dash, as upstream does.
      parts.push(
        first === last
          ? String(first)
          : last === first + 1
            ? `${first},${last}`
            : `${first}-${last}`,
      );
    };
    for (const index of this.values()) {
      if (first !== undefined && index === last + 1) {
        last = index;
        continue;
      }
      end();
      [first, last] = [index, index];
    }
    end();
    return parts.join(',');
  }
}
