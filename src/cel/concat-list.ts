// Lists put together of others. Upstream counts `a + b` as one step, so it must be one: long lists are joined, not copied, or a few
// names for `a + a` of one another would fill the memory.

import { evaluationError } from './errors.ts';
import { listItem, listItems, listSize, ListValue, type Value } from './values.ts';

type List = readonly unknown[] | ListValue;

/** Copying this many is no more work than joining. */
const COPIED = 256;
/** No request holds so many items. */
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

/** Throws EvaluationError if there are too many items. */
export function concatenate(a: List, b: List): Value {
  const size = listSize(a) + listSize(b);
  if (size > MAX_ITEMS) throw evaluationError(`list of ${size} items is too large`);
  if (listSize(a) === 0) return b;
  if (listSize(b) === 0) return a;
  return size <= COPIED ? [...listItems(a), ...listItems(b)] : new ConcatList(a, b);
}
