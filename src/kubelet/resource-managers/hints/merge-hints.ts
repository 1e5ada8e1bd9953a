// Merges the hints of all resources of a container, or of a pod, to one set of NUMA nodes.
//
// Each combination of one hint per resource is a candidate: the nodes that all of its hints have.
// The best candidate is chosen as upstream's topology manager does. Upstream visits all
// combinations; candidates with the same nodes and preference are equal here, so the number of
// steps grows with the number of resources, not exponentially.

import type { Hint, Hints } from './hint.ts';
import { countOf, isNarrower, maskOf, nodesOf } from './numa-mask.ts';

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

export interface NumaInfo {
  readonly nodes: readonly number[];
  /** By node: the distances to all nodes. Absent: nodes are not compared by distance. */
  readonly distances?: ReadonlyMap<number, readonly number[]>;
}

export interface Merged {
  readonly hint: Hint;
  readonly admit: boolean;
}

interface Candidate {
  readonly mask: number;
  readonly preferred: boolean;
}

/** Returns the best hint, and whether the policy admits the container with it. */
export function mergeHints(
  policy: TopologyPolicy,
  numa: NumaInfo,
  providers: readonly Hints[],
): Merged {
  if (policy === 'none') return { hint: { preferred: false }, admit: true };
  const all = maskOf(numa.nodes);
  const perResource = providers.flatMap(listsOf);
  const lists =
    policy === 'single-numa-node' ? perResource.map((list) => list.filter(isSingle)) : perResource;
  const distances = policy === 'single-numa-node' ? undefined : numa.distances;
  const better = (a: number, b: number): boolean =>
    distances === undefined ? isNarrower(a, b) : isCloser(distances, a, b);
  const best = bestOf(candidatesOf(lists, all), targetCount(lists), better) ?? {
    mask: all,
    preferred: false,
  };
  if (policy === 'best-effort') return { hint: best, admit: true };
  const hint =
    policy === 'single-numa-node' && best.mask === all ? { preferred: best.preferred } : best;
  return { hint, admit: best.preferred };
}

const ANY: Hint = { preferred: true };
const NONE: Hint = { preferred: false };

function listsOf(hints: Hints): readonly (readonly Hint[])[] {
  if (hints === undefined || hints.size === 0) return [[ANY]];
  return [...hints.values()].map((list) => (list.length === 0 ? [NONE] : list));
}

function isSingle({ mask, preferred }: Hint): boolean {
  return preferred && (mask === undefined || countOf(mask) === 1);
}

/**
 * Returns the candidates. A candidate is preferred if all of its hints are, and those that name
 * nodes name the same ones.
 */
function candidatesOf(lists: readonly (readonly Hint[])[], all: number): readonly Candidate[] {
  interface Partial extends Candidate {
    /** A hint has named nodes; while the candidate is preferred, they are `mask`. */
    readonly isBound: boolean;
  }
  const keyOf = (mask: number, preferred: boolean, isBound: boolean): number =>
    mask * 4 + (preferred ? 2 : 0) + (isBound ? 1 : 0);
  let partials: readonly Partial[] = [{ mask: all, preferred: true, isBound: false }];
  for (const list of lists) {
    const next = new Map<number, Partial>();
    for (const partial of partials) {
      for (const hint of list) {
        const isSame = hint.mask === undefined || !partial.isBound || hint.mask === partial.mask;
        const mask = hint.mask === undefined ? partial.mask : partial.mask & hint.mask;
        const preferred = partial.preferred && hint.preferred && isSame;
        const isBound = partial.isBound || hint.mask !== undefined;
        const key = keyOf(mask, preferred, isBound);
        if (!next.has(key)) next.set(key, { mask, preferred, isBound });
      }
    }
    partials = [...next.values()];
  }
  return partials.flatMap(({ mask, preferred }) => (mask === 0 ? [] : [{ mask, preferred }]));
}

/** Returns the number of nodes that the resource with the largest need has to have at least. */
function targetCount(lists: readonly (readonly Hint[])[]): number {
  return Math.max(
    0,
    ...lists.map((list) => {
      const counts = list.flatMap(({ mask }) => (mask === undefined ? [] : [countOf(mask)]));
      return counts.length === 0 ? 0 : Math.min(...counts);
    }),
  );
}

/**
 * Returns the best candidate: a preferred one, if there is any. Otherwise one with exactly `target`
 * nodes, else with as many as possible below, else above.
 */
function bestOf(
  candidates: readonly Candidate[],
  target: number,
  better: (a: number, b: number) => boolean,
): Candidate | undefined {
  const rank = ({ mask, preferred }: Candidate): number => {
    if (preferred) return 0;
    const count = countOf(mask);
    if (count <= target) return 1 + target - count;
    return 1 + target;
  };
  let best: Candidate | undefined;
  for (const candidate of candidates) {
    const difference = best === undefined ? -1 : rank(candidate) - rank(best);
    if (difference < 0 || (difference === 0 && better(candidate.mask, best!.mask)))
      best = candidate;
  }
  return best;
}

/** Reports whether the nodes of `a` are fewer, or as many and closer to each other. */
function isCloser(
  distances: ReadonlyMap<number, readonly number[]>,
  a: number,
  b: number,
): boolean {
  if (countOf(a) !== countOf(b)) return isNarrower(a, b);
  const [first, second] = [averageDistance(distances, a), averageDistance(distances, b)];
  return first === second ? a < b : first < second;
}

function averageDistance(distances: ReadonlyMap<number, readonly number[]>, mask: number): number {
  const nodes = nodesOf(mask);
  let sum = 0;
  for (const from of nodes) for (const to of nodes) sum += distances.get(from)?.[to] ?? 0;
  return nodes.length === 0 ? 0 : sum / nodes.length ** 2;
}
