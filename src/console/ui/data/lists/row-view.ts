// The rows of a list in their order, filtered. Follows changes without sorting or filtering
// everything again.

import type { Predicate } from './filter.ts';
import type { Row } from './row.ts';
import type { RowChange } from './row-store.ts';
import { byKey, type Compare } from './sort.ts';

/** Up to this number of changes, each is inserted by itself; more are merged in one pass. */
const FEW = 24;

export class RowView {
  #compare: Compare = byKey;
  #predicate: Predicate | undefined;
  /** Every row, in order. */
  #all: Row[] = [];
  /** The rows that pass the filter, in the same order; the same array without a filter. */
  #shown: Row[] = this.#all;

  /** The rows to show. The array is replaced or changed by the next call. */
  get shown(): readonly Row[] {
    return this.#shown;
  }

  get total(): number {
    return this.#all.length;
  }

  sort(compare: Compare): void {
    this.#compare = compare;
    this.#all.sort(compare);
    this.#refilter(this.#all);
  }

  /** Sets the filter. `narrower`: every row that passes has passed the last filter, too. */
  filter(predicate: Predicate | undefined, narrower = false): void {
    this.#predicate = predicate;
    this.#refilter(narrower ? this.#shown : this.#all);
  }

  apply(changes: readonly RowChange[]): void {
    if (changes.length === 0) return;
    const filtered = this.#shown !== this.#all;
    this.#all = applied(this.#all, changes, this.#compare);
    if (!filtered) {
      this.#shown = this.#all;
      return;
    }
    const passes = this.#predicate!;
    this.#shown = applied(
      this.#shown,
      changes
        .map(({ before, after }) => ({
          before: before !== undefined && passes(before) ? before : undefined,
          after: after !== undefined && passes(after) ? after : undefined,
        }))
        .filter(({ before, after }) => before !== undefined || after !== undefined),
      this.#compare,
    );
  }

  #refilter(rows: Row[]): void {
    this.#shown = this.#predicate === undefined ? this.#all : rows.filter(this.#predicate);
  }
}

/** Returns the sorted rows with the changes; it may change the array that it gets. */
function applied(rows: Row[], changes: readonly RowChange[], compare: Compare): Row[] {
  if (changes.length <= FEW) {
    for (const { before, after } of changes) {
      if (before !== undefined) remove(rows, before, compare);
      if (after !== undefined) rows.splice(placeOf(rows, after, compare), 0, after);
    }
    return rows;
  }
  // The last change of an object counts.
  const gone = new Set<Row>();
  const added = new Map<string, Row>();
  for (const { before, after } of changes) {
    if (before !== undefined) {
      gone.add(before);
      added.delete(before.uid);
    }
    if (after !== undefined) added.set(after.uid, after);
  }
  return merged(
    gone.size === 0 ? rows : rows.filter((row) => !gone.has(row)),
    [...added.values()].sort(compare),
    compare,
  );
}

function merged(rows: Row[], added: readonly Row[], compare: Compare): Row[] {
  if (added.length === 0) return rows;
  const last = rows.at(-1);
  // The next page of a list in the server's order.
  if (last === undefined || compare(last, added[0]!) < 0) {
    for (const row of added) rows.push(row);
    return rows;
  }
  const result: Row[] = [];
  let next = 0;
  for (const row of rows) {
    while (next < added.length && compare(added[next]!, row) < 0) result.push(added[next++]!);
    result.push(row);
  }
  while (next < added.length) result.push(added[next++]!);
  return result;
}

function remove(rows: Row[], row: Row, compare: Compare): void {
  const place = placeOf(rows, row, compare);
  if (rows[place] === row) {
    rows.splice(place, 1);
    return;
  }
  // An order that depends on the time (a filter by age) may have moved: look everywhere.
  const index = rows.indexOf(row);
  if (index !== -1) rows.splice(index, 1);
}

/** Returns the index of the first row that does not come before `row`. */
function placeOf(rows: readonly Row[], row: Row, compare: Compare): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(rows[middle]!, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
