// Concatenated lists. Upstream charges one step for `a + b`, so it must take constant time: long
// lists are joined, not copied. Otherwise a few nested `a + a` would fill the memory.

import { evaluationError } from './errors.ts';
import { listItem, listItems, listSize, ListValue, type Value } from './values.ts';

type List = readonly unknown[] | ListValue;

/** Up to this length, copying takes no longer than joining. */
const COPIED = 256;
/** The maximum length of a list. Lists in requests are shorter. */
const MAX_ITEMS = 10_000_000;

class ConcatList extends ListValue {
  readonly #left: List;
  readonly #right: List;
  readonly #middle: number;
  readonly size: number;

  constructor(left: List, right: List) {
    super();
    this.#left = left;
    this.#right = right;
    this.#middle = listSize(left);
    this.size = this.#middle + listSize(right);
  }

  at(index: number): Value {
    const [list, place] =
      index < this.#middle ? [this.#left, index] : [this.#right, index - this.#middle];
    return listItem(list, place);
  }
}

/** Returns the concatenation. Throws EvaluationError if there are too many items. */
export function concatenate(a: List, b: List): Value {
  const size = listSize(a) + listSize(b);
  if (size > MAX_ITEMS) throw evaluationError(`list of ${size} items is too large`);
  if (listSize(a) === 0) return b;
  if (listSize(b) === 0) return a;
  return size <= COPIED ? [...listItems(a), ...listItems(b)] : new ConcatList(a, b);
}
