// An index of the affinity terms of pods on nodes by content: pods of one template share an entry,
// so a new pod is compared with each different term once, not with every pod.

import type { SnapshotReader } from '#scheduler/framework/snapshot.ts';
import { SnapshotFollower } from '#scheduler/framework/snapshot-changes.ts';
import {
  type AffinityTerm,
  demandedLabel,
  type NamespaceLabels,
  termMatches,
  type WeightedAffinityTerm,
} from '#scheduler/framework/affinity-terms.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { DomainNumbers, NumberedCounts } from '../topology/domain-numbers.ts';
import { topologyValue } from '../topology/labels.ts';

/** A term, with the number of pods that have it by domain. */
export interface IndexedTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
  /** Value of the term's topology → the number of pods with the term. No entry is 0. */
  readonly counts: ReadonlyMap<string, number>;
  /** Returns the count for the node at a position of the snapshot. */
  countAt(position: number): number;
  /** Whether every domain of the term's topology has at most one node. */
  readonly separate: boolean;
}

class Entry implements IndexedTerm {
  readonly identity: string;
  readonly term: AffinityTerm;
  readonly weight: number;
  readonly counts = new Map<string, number>();
  readonly #domains: DomainNumbers;
  readonly #numbered = new NumberedCounts();

  constructor(identity: string, { term, weight }: WeightedAffinityTerm, domains: DomainNumbers) {
    this.identity = identity;
    this.term = term;
    this.weight = weight;
    this.#domains = domains;
  }

  countAt(position: number): number {
    return this.#domains.count(position, this.#numbered);
  }

  get separate(): boolean {
    return this.#domains.separate;
  }

  add(domain: string, by: number): void {
    const count = (this.counts.get(domain) ?? 0) + by;
    if (count !== 0) this.counts.set(domain, count);
    else this.counts.delete(domain);
    this.#numbered.add(this.#domains.of(domain), by);
  }
}

export class TermIndex {
  readonly #snapshot: SnapshotReader;
  readonly #follower: SnapshotFollower;
  readonly #termsOf: (pod: PodInfo) => readonly WeightedAffinityTerm[];
  /** By position: the node as it was counted. */
  #seen: NodeInfo[] = [];
  /** By topology key: for all terms since positions refer to these nodes. */
  readonly #domains = new Map<string, DomainNumbers>();
  /** By identity and weight. Each has a count somewhere. */
  readonly #entries = new Map<string, Entry>();
  /**
   * Label → value → entries whose selector requires it. An entry is either here or in #unsorted.
   */
  readonly #byLabel = new Map<string, Map<string, Set<Entry>>>();
  readonly #unsorted = new Set<Entry>();

  /** Creates the index. `termsOf`: returns the terms of a pod that count here. */
  constructor(
    snapshot: SnapshotReader,
    termsOf: (pod: PodInfo) => readonly WeightedAffinityTerm[],
  ) {
    this.#snapshot = snapshot;
    this.#follower = new SnapshotFollower(snapshot.changes);
    this.#termsOf = termsOf;
  }

  /** Returns the terms that match the pod, as of the snapshot. */
  matching(pod: Pod, labelsOf: NamespaceLabels): readonly IndexedTerm[] {
    this.#update();
    const found: IndexedTerm[] = [];
    if (this.#entries.size === 0) return found;
    const look = (entries: ReadonlySet<Entry> | undefined): void => {
      for (const entry of entries ?? [])
        if (termMatches(entry.term, pod, labelsOf)) found.push(entry);
    };
    look(this.#unsorted);
    const labels = pod.metadata.labels;
    if (labels === undefined) return found;
    for (const [label, byValue] of this.#byLabel) {
      if (Object.hasOwn(labels, label)) look(byValue.get(labels[label]!));
    }
    return found;
  }

  #update(): void {
    const { nodes } = this.#snapshot;
    this.#follower.follow(
      () => {
        this.#entries.clear();
        this.#domains.clear();
        this.#byLabel.clear();
        this.#unsorted.clear();
        this.#seen = [...nodes];
        for (const node of nodes)
          for (const pod of node.podsWithAffinity) this.#count(pod, node, 1);
      },
      (position) => {
        const [before, after] = [this.#seen[position]!, nodes[position]!];
        this.#seen[position] = after;
        if (before.node !== after.node) {
          for (const [key, domains] of this.#domains)
            domains.put(position, topologyValue(after.node, key));
        }
        this.#replace(before, after);
      },
    );
  }

  #replace(before: NodeInfo, after: NodeInfo): void {
    const [old, now] = [before.podsWithAffinity, after.podsWithAffinity];
    let same = 0;
    // On the same node, the earlier pods are usually unchanged.
    if (before.node?.metadata.labels === after.node?.metadata.labels) {
      if (old === now) return;
      while (same < old.length && old[same] === now[same]) same++;
    }
    for (let i = same; i < old.length; i++) this.#count(old[i]!, before, -1);
    for (let i = same; i < now.length; i++) this.#count(now[i]!, after, 1);
  }

  #count(pod: PodInfo, { node }: NodeInfo, by: 1 | -1): void {
    for (const { term, weight } of this.#termsOf(pod)) {
      const value = topologyValue(node, term.topologyKey);
      if (value === undefined) continue;
      const identity = `${weight} ${term.identity}`;
      const entry = this.#entries.get(identity) ?? this.#add(identity, { term, weight });
      entry.add(value, by);
      if (entry.counts.size === 0) this.#remove(entry);
    }
  }

  #domainsOf(key: string): DomainNumbers {
    let domains = this.#domains.get(key);
    if (domains === undefined) {
      const made = new DomainNumbers(this.#seen.length);
      this.#seen.forEach(({ node }, position) => made.put(position, topologyValue(node, key)));
      this.#domains.set(key, (domains = made));
    }
    return domains;
  }

  #add(identity: string, weighted: WeightedAffinityTerm): Entry {
    const { term } = weighted;
    const entry = new Entry(identity, weighted, this.#domainsOf(term.topologyKey));
    this.#entries.set(identity, entry);
    const label = demandedLabel(term.selector);
    if (label === undefined) {
      this.#unsorted.add(entry);
      return entry;
    }
    const [key, value] = label;
    let byValue = this.#byLabel.get(key);
    if (byValue === undefined) this.#byLabel.set(key, (byValue = new Map()));
    const entries = byValue.get(value);
    if (entries === undefined) byValue.set(value, new Set([entry]));
    else entries.add(entry);
    return entry;
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.identity);
    if (this.#unsorted.delete(entry)) return;
    const [key, value] = demandedLabel(entry.term.selector) as readonly [string, string];
    const byValue = this.#byLabel.get(key);
    const entries = byValue?.get(value);
    entries?.delete(entry);
    if (entries?.size === 0) byValue?.delete(value);
    if (byValue?.size === 0) this.#byLabel.delete(key);
  }
}
