// Sets of completion indexes, in the form of a job's status: '0-2,5'. A set is kept as ranges: a job
// may have two billion indexes.

interface Range {
  readonly first: number;
  readonly last: number;
}

export class IndexSet {
  /** In rising order, with a gap between any two. */
  readonly #ranges: readonly Range[];
  readonly size: number;

  private constructor(ranges: readonly Range[]) {
    this.#ranges = joined(ranges);
    this.size = this.#ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  }

  static of(members: Iterable<number>): IndexSet {
    return new IndexSet(Array.from(members, (index) => ({ first: index, last: index })));
  }

  /**
   * Parses a text that the server has validated. Invalid parts, and indexes that are not below
   * `limit`, are left out.
   */
  static parse(text: string | undefined, limit = Number.POSITIVE_INFINITY): IndexSet {
    const ranges: Range[] = [];
    for (const part of (text ?? '').split(',')) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (match === null) continue;
      const first = Number(match[1]);
      const last = Math.min(Number(match[2] ?? match[1]), limit - 1);
      if (first <= last) ranges.push({ first, last });
    }
    return new IndexSet(ranges);
  }

  has(index: number): boolean {
    const range = this.#ranges[this.#positionOf(index)];
    return range !== undefined && range.first <= index;
  }

  with(indexes: Iterable<number>): IndexSet {
    return this.union(IndexSet.of(indexes));
  }

  union(other: IndexSet): IndexSet {
    return new IndexSet([...this.#ranges, ...other.#ranges]);
  }

  without(other: IndexSet): IndexSet {
    const left: Range[] = [];
    for (const { first, last } of this.#ranges) {
      let from = first;
      for (const each of other.#overlapping({ first, last })) {
        if (each.first > from) left.push({ first: from, last: each.first - 1 });
        from = each.last + 1;
      }
      if (from <= last) left.push({ first: from, last });
    }
    return new IndexSet(left);
  }

  /** Returns the lowest index from `index` on that is not in the set. */
  nextAbsent(index: number): number {
    const range = this.#ranges[this.#positionOf(index)];
    return range !== undefined && range.first <= index ? range.last + 1 : index;
  }

  toString(): string {
    // Two consecutive indexes are written without a dash, as upstream does.
    return this.#ranges
      .map(({ first, last }) =>
        first === last ? String(first) : `${first}${last === first + 1 ? ',' : '-'}${last}`,
      )
      .join(',');
  }

  /** Returns the position of the first range that does not end before `index`. */
  #positionOf(index: number): number {
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ranges[middle]!.last < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  *#overlapping({ first, last }: Range): Iterable<Range> {
    for (let at = this.#positionOf(first); at < this.#ranges.length; at++) {
      const range = this.#ranges[at]!;
      if (range.first > last) return;
      yield range;
    }
  }
}

/** Returns the ranges in rising order; those that overlap or touch are one. */
function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = result.at(-1);
    if (before === undefined || range.first > before.last + 1) result.push(range);
    else if (range.last > before.last)
      result[result.length - 1] = { first: before.first, last: range.last };
  }
  return result;
}
