// The result of InterPodAffinity's PreFilter for a pod, and its evaluation for a node.

import { type NamespaceLabels, termMatches } from '#scheduler/framework/affinity-terms.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { NodeAnswers } from '#scheduler/framework/node-memo.ts';
import type { Answer } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { topologyValue } from '../topology/labels.ts';
import type { DomainCounts } from '../topology/tally.ts';
import type { IndexedTerm } from './term-index.ts';

/** A term of the pod itself, with the number of selected pods. */
export interface OwnTerm {
  readonly topologyKey: string;
  readonly matches: (other: PodInfo) => boolean;
  readonly counts: DomainCounts;
}

type Counts = ReadonlyMap<string, number>;

/** By topology key: the domains from which existing pods exclude the pod. */
type Forbidden = ReadonlyMap<string, readonly Counts[]>;

/** With more different terms, they are summed once instead of at each node. */
const FEW_TERMS = 4;

/** The anti-affinity terms of existing pods that exclude the pod. */
export class Existing {
  readonly terms: readonly IndexedTerm[];
  #forbidden: Forbidden | undefined;

  constructor(terms: readonly IndexedTerm[]) {
    this.terms = terms;
  }

  /** Computed on demand: for nodes whose position is unknown. */
  get forbidden(): Forbidden {
    this.#forbidden ??= byTopology(this.terms);
    return this.#forbidden;
  }
}

export class AffinityState {
  /**
   * Remembered results about nodes for the template, where they apply; not in a copy for
   * hypothetical pods.
   */
  readonly known: NodeAnswers<Answer> | undefined;
  readonly #affinity: readonly OwnTerm[];
  readonly #antiAffinity: readonly OwnTerm[];
  readonly #existing: Existing;
  /** Changes of #existing by hypothetically added and removed pods. */
  readonly #trial: Map<string, Map<string, number>>;
  /** The pod matches its own affinity terms: as long as no other pod does, it may run anywhere. */
  readonly #firstOfItsKind: boolean;

  constructor(
    affinity: readonly OwnTerm[],
    antiAffinity: readonly OwnTerm[],
    existing: Existing,
    firstOfItsKind: boolean,
    known?: NodeAnswers<Answer>,
    trial: Map<string, Map<string, number>> = new Map(),
  ) {
    this.known = known;
    this.#affinity = affinity;
    this.#antiAffinity = antiAffinity;
    this.#existing = existing;
    this.#firstOfItsKind = firstOfItsKind;
    this.#trial = trial;
  }

  clone(): AffinityState {
    const copy = (term: OwnTerm): OwnTerm => ({ ...term, counts: term.counts.clone() });
    return new AffinityState(
      this.#affinity.map(copy),
      this.#antiAffinity.map(copy),
      this.#existing,
      this.#firstOfItsKind,
      undefined,
      new Map(Array.from(this.#trial, ([key, counts]) => [key, new Map(counts)])),
    );
  }

  /**
   * Adds `other` to the node (`by` 1) or removes it (-1). `pod`: the pod that is being scheduled.
   */
  count(
    pod: PodInfo,
    other: PodInfo,
    { node }: NodeInfo,
    by: 1 | -1,
    labelsOf: NamespaceLabels,
  ): void {
    for (const { topologyKey, matches, counts } of [...this.#affinity, ...this.#antiAffinity]) {
      const domain = topologyValue(node, topologyKey);
      if (domain !== undefined && matches(other)) counts.add(domain, by);
    }
    for (const term of other.affinityTerms.requiredAntiAffinity) {
      const domain = topologyValue(node, term.topologyKey);
      if (domain === undefined || !termMatches(term, pod.pod, labelsOf)) continue;
      const counts = this.#trial.get(term.topologyKey) ?? new Map<string, number>();
      this.#trial.set(term.topologyKey, counts);
      counts.set(domain, (counts.get(domain) ?? 0) + by);
    }
  }

  /**
   * Reports whether a pod matches all terms in each of their topologies; or none does anywhere and
   * the pod matches itself. `position`: of the node in the snapshot; undefined if the node differs
   * from the snapshot.
   */
  meetsAffinity(node: NodeInfo, position: number | undefined): boolean {
    let present = true;
    for (const term of this.#affinity) {
      const count = countFor(term, node, position);
      if (count === undefined) return false;
      if (count <= 0) present = false;
    }
    if (present) return true;
    return this.#firstOfItsKind && this.#affinity.every(({ counts }) => counts.total === 0);
  }

  /**
   * Reports whether no pod in the node's domains matches an anti-affinity term. `position`: as for
   * meetsAffinity.
   */
  meetsAntiAffinity(node: NodeInfo, position: number | undefined): boolean {
    for (const term of this.#antiAffinity)
      if ((countFor(term, node, position) ?? 0) > 0) return false;
    return true;
  }

  /**
   * Reports whether no existing pod's anti-affinity excludes this pod from the node's domains.
   * `position`: as for meetsAffinity.
   */
  meetsExisting({ node }: NodeInfo, position: number | undefined): boolean {
    const { terms } = this.#existing;
    if (position !== undefined && this.#trial.size === 0 && terms.length <= FEW_TERMS) {
      for (const term of terms) if (term.countAt(position) > 0) return false;
      return true;
    }
    const { forbidden } = this.#existing;
    for (const [topologyKey, all] of forbidden) {
      const domain = topologyValue(node, topologyKey);
      if (domain === undefined) continue;
      let count = this.#trial.get(topologyKey)?.get(domain) ?? 0;
      for (const counts of all) count += counts.get(domain) ?? 0;
      if (count > 0) return false;
    }
    for (const [topologyKey, counts] of this.#trial) {
      if (forbidden.has(topologyKey)) continue;
      const domain = topologyValue(node, topologyKey);
      if (domain !== undefined && (counts.get(domain) ?? 0) > 0) return false;
    }
    return true;
  }
}

/**
 * Returns the number of pods that match the term in the node's domain; undefined if the node is in
 * none.
 */
function countFor(
  { topologyKey, counts }: OwnTerm,
  { node }: NodeInfo,
  position: number | undefined,
): number | undefined {
  if (position !== undefined) return counts.countAt(position);
  const domain = topologyValue(node, topologyKey);
  return domain === undefined ? undefined : counts.count(domain);
}

function byTopology(terms: readonly IndexedTerm[]): Forbidden {
  const forbidden = new Map<string, Counts[]>();
  for (const { term, counts } of terms) {
    const present = forbidden.get(term.topologyKey);
    if (present === undefined) forbidden.set(term.topologyKey, [counts]);
    else present.push(counts);
  }
  for (const [key, all] of forbidden) if (all.length > FEW_TERMS) forbidden.set(key, [sum(all)]);
  return forbidden;
}

function sum(all: readonly Counts[]): Counts {
  const total = new Map<string, number>();
  for (const counts of all)
    for (const [domain, count] of counts) total.set(domain, (total.get(domain) ?? 0) + count);
  return total;
}
