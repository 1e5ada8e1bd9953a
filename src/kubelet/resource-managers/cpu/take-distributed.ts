// Chooses CPUs evenly from as few NUMA nodes as possible (KEP-2902), for the policy option
// distribute-cpus-across-numa.

import { type CpuTopology, numaNodesOf } from '../machine-topology.ts';
import { type CpuSet, difference, union } from '../cpu-set.ts';
import { combinations } from '../hints/numa-mask.ts';
import { type CpuOrder, CpuShortageError, orderedNumaNodes, takePacked } from './take-cpus.ts';

/** The share of each node, and the nodes that give one group more in turn. */
interface Distribution {
  readonly nodes: readonly number[];
  readonly remainderNodes: readonly number[];
  /** The standard deviation of the free CPUs of all nodes after the allocation. */
  readonly balance: number;
}

/**
 * Takes `count` of the available CPUs in groups of `groupSize`. Falls back to `takePacked` if they
 * cannot be distributed. Throws a CpuShortageError.
 */
export function takeDistributed(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  groupSize: number,
  order: CpuOrder,
): CpuSet {
  const packed = (from: CpuSet, some: number): CpuSet =>
    takePacked(topology, from, some, { order, alignByUncore: false });
  if (count < 1 || count % groupSize !== 0) return packed(available, count);
  const inTopology = new Set([...available].filter((cpu) => topology.cpus.has(cpu)));
  if (count > inTopology.size) throw new CpuShortageError(count, available.size);
  const nodes = orderedNumaNodes(topology, inTopology);
  const [least, most] = numberOfNodes(topology, nodes.length, count, groupSize);
  for (let size = least; size <= most; size++) {
    const best = bestDistribution(topology, inTopology, nodes, size, count, groupSize);
    if (best === undefined) continue;
    let taken: CpuSet = new Set();
    const takeFrom = (node: number, some: number): void => {
      taken = union(taken, packed(freeOn(topology, difference(inTopology, taken), node), some));
    };
    const share = shareOf(count, size, groupSize);
    for (const node of best.nodes) takeFrom(node, share);
    let remainder = count - share * size;
    while (remainder > 0) {
      const before = remainder;
      for (const node of best.remainderNodes) {
        if (remainder === 0) break;
        if (freeOn(topology, difference(inTopology, taken), node).size < groupSize) continue;
        takeFrom(node, groupSize);
        remainder -= groupSize;
      }
      if (remainder === before) throw new CpuShortageError(count, available.size);
    }
    return taken;
  }
  return packed(available, count);
}

const shareOf = (count: number, nodes: number, groupSize: number): number =>
  Math.floor(Math.floor(count / nodes) / groupSize) * groupSize;

function freeOn({ cpus }: CpuTopology, free: CpuSet, node: number): CpuSet {
  return new Set([...free].filter((cpu) => cpus.get(cpu)?.numa === node));
}

/** Returns the smallest and the largest number of NUMA nodes that the CPUs may come from. */
function numberOfNodes(
  topology: CpuTopology,
  nodesWithFree: number,
  count: number,
  groupSize: number,
): readonly [number, number] {
  const groups = Math.ceil(topology.cpus.size / groupSize);
  const groupsPerNode = Math.ceil(groups / numaNodesOf(topology).length);
  const needed = Math.ceil(count / groupSize);
  return [Math.ceil(needed / groupsPerNode), Math.min(needed, nodesWithFree)];
}

function bestDistribution(
  topology: CpuTopology,
  available: CpuSet,
  nodes: readonly number[],
  size: number,
  count: number,
  groupSize: number,
): Distribution | undefined {
  const free = new Map(nodes.map((node) => [node, freeOn(topology, available, node).size]));
  let best: Distribution | undefined;
  for (const combination of combinations(nodes, size)) {
    if (best?.balance === 0) break;
    const found = distribute(free, combination, count, groupSize);
    if (found !== undefined && found.balance < (best?.balance ?? Number.MAX_VALUE)) best = found;
  }
  return best;
}

/** Returns the best distribution over all of these nodes; undefined if there is none. */
function distribute(
  free: ReadonlyMap<number, number>,
  nodes: readonly number[],
  count: number,
  groupSize: number,
): Distribution | undefined {
  const sizes = nodes.map((node) => free.get(node) ?? 0);
  const groups = sizes.reduce((sum, size) => sum + Math.floor(size / groupSize), 0);
  const share = shareOf(count, nodes.length, groupSize);
  if (groups * groupSize < count || sizes.some((size) => size < share)) return undefined;
  const left = new Map(free);
  for (const node of nodes) left.set(node, left.get(node)! - share);
  const remainder = count - share * nodes.length;
  if (remainder === 0) return { nodes, remainderNodes: [], balance: deviation([...left.values()]) };
  const givers = nodes.filter((node) => left.get(node)! >= groupSize);
  let best: Distribution | undefined;
  for (let size = givers.length; size >= 1; size--) {
    for (const subset of combinations(givers, size)) {
      const balance = balanceAfter(left, subset, remainder, groupSize);
      if (balance !== undefined && balance < (best?.balance ?? Number.MAX_VALUE))
        best = { nodes, remainderNodes: subset, balance };
    }
  }
  return best;
}

/** Returns the balance after the subset has given the remainder; undefined if it has too few. */
function balanceAfter(
  before: ReadonlyMap<number, number>,
  subset: readonly number[],
  remainder: number,
  groupSize: number,
): number | undefined {
  const left = new Map(before);
  const groups = subset.reduce((sum, node) => sum + Math.floor(left.get(node)! / groupSize), 0);
  if (groups * groupSize < remainder) return undefined;
  for (let rest = remainder; rest > 0;) {
    for (const node of subset) {
      if (rest === 0) break;
      if (left.get(node)! < groupSize) continue;
      left.set(node, left.get(node)! - groupSize);
      rest -= groupSize;
    }
  }
  return deviation([...left.values()]);
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** Returns the standard deviation, rounded as upstream does, so that equal ones compare equal. */
function deviation(values: readonly number[]): number {
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return rounded(Math.sqrt(squares / values.length));
}
