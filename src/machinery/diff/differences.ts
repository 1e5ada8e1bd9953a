// The differences between two JSON values.

import { deepEqual, isPlainObject } from '../deep.ts';

export interface Difference {
  /** The keys of objects and the indices of lists. */
  readonly path: readonly (string | number)[];
  /** The old value. Undefined: the field was added. */
  readonly from: unknown;
  /** The new value. Undefined: the field was removed. */
  readonly to: unknown;
}

/**
 * Returns the changes from `before` to `after`, in the order of paths. Items of lists are compared
 * by index. Items beyond the end of the shorter list come last, in descending order. A value that
 * changes its type is one difference.
 */
export function differences(before: unknown, after: unknown): readonly Difference[] {
  const found: Difference[] = [];
  compare(before, after, [], found);
  return found;
}

function compare(
  before: unknown,
  after: unknown,
  path: readonly (string | number)[],
  found: Difference[],
): void {
  if (before === after || deepEqual(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    const common = Math.min(before.length, after.length);
    for (let n = 0; n < common; n++) compare(before[n], after[n], [...path, n], found);
    for (let n = before.length - 1; n >= common; n--)
      found.push({ path: [...path, n], from: before[n] as unknown, to: undefined });
    for (let n = common; n < after.length; n++)
      found.push({ path: [...path, n], from: undefined, to: after[n] as unknown });
  } else if (isPlainObject(before) && isPlainObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const [from, to] = [Object.hasOwn(before, key), Object.hasOwn(after, key)];
      if (from && to) compare(before[key], after[key], [...path, key], found);
      else
        found.push({
          path: [...path, key],
          from: from ? before[key] : undefined,
          to: to ? after[key] : undefined,
        });
    }
  } else found.push({ path, from: before, to: after });
}
