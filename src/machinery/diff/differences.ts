// The differences between two JSON values.

import { deepEqual, isPlainObject } from '../deep.ts';

export interface Difference {
  /** Keys of objects and indices of lists. */
  readonly path: readonly (string | number)[];
  /** Undefined: it was not there. */
  readonly from: unknown;
  /** Undefined: it is not there any more. */
  readonly to: unknown;
}

/**
 * Returns what has to change to make `before` into `after`, in the order of paths. Items of lists
 * are compared by index; those at the end of the longer list come last, from its end. A value of
 * another type is one difference.
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
