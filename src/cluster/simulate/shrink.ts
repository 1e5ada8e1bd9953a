// Finds a smaller list that still fails, by leaving out parts of it (Zeller's delta debugging).

/**
 * Returns a part of `items` with which `fails` still resolves with true, and of which no single item can be left out,
 * unless `maxRuns` ends the search before.
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  maxRuns = 100,
): Promise<readonly T[]> {
  let current = items;
  let parts = 2;
  let runs = 0;
  if (current.length > 0 && runs++ < maxRuns && (await fails([]))) return [];
  while (current.length >= 2 && runs < maxRuns) {
    const size = Math.ceil(current.length / parts);
    let found = false;
    for (let start = 0; start < current.length && runs < maxRuns; start += size) {
      const without = [...current.slice(0, start), ...current.slice(start + size)];
      runs++;
      if (!(await fails(without))) continue;
      current = without;
      parts = Math.max(parts - 1, 2);
      found = true;
      break;
    }
    if (found) continue;
    if (size === 1) break;
    parts = Math.min(current.length, parts * 2);
  }
  return current;
}
