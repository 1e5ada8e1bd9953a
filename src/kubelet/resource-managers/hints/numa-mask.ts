// Sets of NUMA nodes as bits of a number: node i is bit i.

/** A machine with a node of a larger id has no topology manager. */
export const MAX_NUMA_ID = 30;

export function maskOf(nodes: Iterable<number>): number {
  let mask = 0;
  for (const node of nodes) mask |= 1 << node;
  return mask;
}

export function nodesOf(mask: number): readonly number[] {
  const nodes: number[] = [];
  for (let node = 0; node <= MAX_NUMA_ID; node++) if (hasNode(mask, node)) nodes.push(node);
  return nodes;
}

export function hasNode(mask: number, node: number): boolean {
  return node <= MAX_NUMA_ID && (mask & (1 << node)) !== 0;
}

export function countOf(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** Reports whether the mask has fewer nodes, or as many with smaller ids. */
export function isNarrower(mask: number, other: number): boolean {
  const [a, b] = [countOf(mask), countOf(other)];
  return a === b ? mask < other : a < b;
}

/** Returns all non-empty subsets of the nodes: those with fewer nodes first. */
export function subsetsOf(nodes: readonly number[]): readonly number[] {
  const all: number[] = [];
  for (let size = 1; size <= nodes.length; size++)
    for (const subset of combinations(nodes, size)) all.push(maskOf(subset));
  return all;
}

/** Returns all subsets with `size` items, in the order of the items. */
export function combinations<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  if (size === 0) return [[]];
  return items.flatMap((item, i) =>
    combinations(items.slice(i + 1), size - 1).map((rest) => [item, ...rest]),
  );
}
