// Counts selected pods on each node and in each topology domain (zone, host, …). Updates cost in
// proportion to the changed pods, and all pods with the same selection share a tally.

import type { PodCounter, PodSelection, SnapshotReader } from '#scheduler/framework/snapshot.ts';
import { SnapshotFollower } from '#scheduler/framework/snapshot-changes.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';

/** Values for each position of a snapshot. */
export interface Tally {
  /** Updates the values to the snapshot's state. */
  update(): void;
  /** Ends the tally: it is not used again. */
  close(): void;
}

/** Counts the selected pods on each node. */
export class NodeTally implements Tally, PodCounter {
  readonly selection: PodSelection;
  readonly #snapshot: SnapshotReader;
  /** The structure to which the positions of #counts belong: -1 before the first update. */
  #structure = -1;
  #counts: number[] = [];

  constructor(snapshot: SnapshotReader, selection: PodSelection) {
    this.selection = selection;
    this.#snapshot = snapshot;
    snapshot.podGroups.follow(this);
  }

  close(): void {
    this.#snapshot.podGroups.unfollow(this);
  }

  update(): void {
    const { nodes, podGroups } = this.#snapshot;
    podGroups.update();
    if (this.#structure === podGroups.nodeChanges.structure) return;
    this.#structure = podGroups.nodeChanges.structure;
    this.#counts = nodes.map(() => 0);
    podGroups.forEachCount(this, (position, count) => this.changed(position, count));
  }

  changed(position: number, by: number): void {
    if (this.#structure !== this.#snapshot.podGroups.nodeChanges.structure) return;
    this.#counts[position] = this.#counts[position]! + by;
  }

  /** Returns the count of the node at this position of the snapshot. */
  countAt(position: number): number {
    return this.#counts[position]!;
  }

  /** Returns the count of a node in the snapshot; 0 for others. */
  count(node: NodeInfo): number {
    const position = this.#snapshot.positionOf(node.name);
    return position === undefined ? 0 : (this.#counts[position] ?? 0);
  }
}

/** The number for nodes without a domain. */
const NOWHERE = -1;

interface Domain {
  readonly name: string;
  /** The index in #numbered and #counts: stable until positions refer to other nodes. */
  readonly number: number;
  nodes: number;
  count: number;
}

/** Counts the selected pods on the nodes of each domain. */
export class DomainTally implements Tally, PodCounter {
  readonly selection: PodSelection;
  readonly #snapshot: SnapshotReader;
  readonly #nodeFollower: SnapshotFollower;
  readonly #domainOf: (node: NodeInfo) => string | undefined;
  /** The structure to which the positions below belong: -1 before the first update. */
  #structure = -1;
  /**
   * By position: the number of the domain in which the node is counted (NOWHERE for none), and its
   * count.
   */
  #numberAt = new Int32Array(0);
  #countAt: number[] = [];
  /**
   * By number: present and former domains, and their counts again in an array, for reading many of
   * them.
   */
  #numbered: Domain[] = [];
  #counts = new Int32Array(64);
  /** The domains with at least one node. */
  readonly #domains = new Map<string, Domain>();
  /** Count → the number of domains with it; no entry is 0. */
  readonly #domainsWith = new Map<number, number>();
  /** A lower bound of all domains' counts. */
  #floor = 0;
  #total = 0;
  /** The number of nodes in domains. */
  #placed = 0;

  /**
   * Creates a tally. `domainOf`: returns undefined for a node without a domain. It must depend on
   * the Node object only, not on its pods.
   */
  constructor(
    snapshot: SnapshotReader,
    domainOf: (node: NodeInfo) => string | undefined,
    selection: PodSelection,
  ) {
    this.selection = selection;
    this.#snapshot = snapshot;
    this.#nodeFollower = new SnapshotFollower(snapshot.podGroups.nodeChanges);
    this.#domainOf = domainOf;
    snapshot.podGroups.follow(this);
  }

  close(): void {
    this.#snapshot.podGroups.unfollow(this);
  }

  update(): void {
    this.#snapshot.podGroups.update();
    this.#nodeFollower.follow(
      () => this.#reset(),
      (position) => {
        const before = this.#domainAt(position);
        const name = this.#domainOf(this.#snapshot.nodes[position]!);
        if (name === before?.name) return;
        const count = this.#countAt[position]!;
        if (before !== undefined) this.#change(before, -1, -count);
        this.#numberAt[position] = name === undefined ? NOWHERE : this.#put(name, count);
      },
    );
  }

  changed(position: number, by: number): void {
    if (this.#structure !== this.#snapshot.podGroups.nodeChanges.structure) return;
    this.#countAt[position] = this.#countAt[position]! + by;
    const domain = this.#domainAt(position);
    if (domain !== undefined) this.#change(domain, 0, by);
  }

  /** The number of domains. */
  get size(): number {
    return this.#domains.size;
  }

  /** The sum over all domains. */
  get total(): number {
    return this.#total;
  }

  /** Whether every domain has at most one node. */
  get separate(): boolean {
    return this.#placed === this.#domains.size;
  }

  count(domain: string): number {
    return this.#domains.get(domain)?.count ?? 0;
  }

  /** Returns the domain of the node at this position of the snapshot; undefined for none. */
  domainAt(position: number): string | undefined {
    return this.#domainAt(position)?.name;
  }

  /**
   * Returns the count of a domain without reading the node: called for hundreds of nodes for every
   * pod.
   */
  countAt(position: number): number | undefined {
    const number = this.#numberAt[position]!;
    return number === NOWHERE ? undefined : this.#counts[number];
  }

  /**
   * Returns the smallest count of a domain; undefined if there is none. `without`: by count, the
   * number of domains to leave out.
   */
  least(without?: ReadonlyMap<number, number>): number | undefined {
    if (this.#domains.size === 0) return undefined;
    while (!this.#domainsWith.has(this.#floor)) this.#floor++;
    if (without === undefined) return this.#floor;
    let left = this.#domains.size;
    for (let count = this.#floor; left > 0; count++) {
      const here = this.#domainsWith.get(count) ?? 0;
      if (here > (without.get(count) ?? 0)) return count;
      left -= here;
    }
    return undefined;
  }

  #reset(): void {
    const { nodes, podGroups } = this.#snapshot;
    this.#structure = podGroups.nodeChanges.structure;
    this.#domains.clear();
    this.#domainsWith.clear();
    this.#floor = 0;
    this.#total = 0;
    this.#placed = 0;
    this.#countAt = nodes.map(() => 0);
    this.#numbered = [];
    this.#numberAt = Int32Array.from(nodes, (node) => {
      const name = this.#domainOf(node);
      return name === undefined ? NOWHERE : this.#put(name, 0);
    });
    podGroups.forEachCount(this, (position, count) => this.changed(position, count));
  }

  #domainAt(position: number): Domain | undefined {
    return this.#numbered[this.#numberAt[position]!];
  }

  /** Adds a node with this count to the domain. Returns the domain's number. */
  #put(name: string, count: number): number {
    const domain = this.#domains.get(name) ?? this.#add(name);
    this.#change(domain, 1, count);
    return domain.number;
  }

  #add(name: string): Domain {
    const domain: Domain = { name, number: this.#numbered.length, nodes: 0, count: 0 };
    this.#numbered.push(domain);
    if (domain.number === this.#counts.length) {
      const more = new Int32Array(2 * this.#counts.length);
      more.set(this.#counts);
      this.#counts = more;
    }
    this.#domains.set(name, domain);
    this.#countDomains(0, 1);
    return domain;
  }

  /** Changes a domain of #domains. */
  #change(domain: Domain, nodes: number, count: number): void {
    this.#countDomains(domain.count, -1);
    domain.nodes += nodes;
    domain.count += count;
    this.#counts[domain.number] = domain.count;
    this.#total += count;
    this.#placed += nodes;
    if (domain.nodes === 0) {
      this.#domains.delete(domain.name);
      return;
    }
    this.#countDomains(domain.count, 1);
    if (domain.count < this.#floor) this.#floor = domain.count;
  }

  #countDomains(count: number, by: 1 | -1): void {
    const now = (this.#domainsWith.get(count) ?? 0) + by;
    if (now === 0) this.#domainsWith.delete(count);
    else this.#domainsWith.set(count, now);
  }
}

/** A DomainTally for one cycle, with hypothetically added and removed pods. */
export class DomainCounts {
  readonly #tally: DomainTally;
  /** The hypothetical changes; undefined: none. */
  #delta: Map<string, number> | undefined;
  /** The result of `least`; undefined: not computed since the last change. */
  #least: number | undefined;

  constructor(tally: DomainTally, delta?: ReadonlyMap<string, number>) {
    this.#tally = tally;
    this.#delta = delta === undefined ? undefined : new Map(delta);
  }

  clone(): DomainCounts {
    return new DomainCounts(this.#tally, this.#delta);
  }

  add(domain: string, by: number): void {
    this.#least = undefined;
    this.#delta ??= new Map();
    this.#delta.set(domain, (this.#delta.get(domain) ?? 0) + by);
  }

  get size(): number {
    return this.#tally.size;
  }

  /** Whether every domain has at most one node. */
  get separate(): boolean {
    return this.#tally.separate;
  }

  get total(): number {
    let { total } = this.#tally;
    if (this.#delta !== undefined) for (const by of this.#delta.values()) total += by;
    return total;
  }

  count(domain: string): number {
    return this.#tally.count(domain) + (this.#delta?.get(domain) ?? 0);
  }

  /**
   * Returns the count of the domain of the node at this position of the snapshot; undefined if it
   * is in none.
   */
  countAt(position: number): number | undefined {
    if (this.#delta === undefined) return this.#tally.countAt(position);
    const domain = this.#tally.domainAt(position);
    return domain === undefined ? undefined : this.count(domain);
  }

  /** Returns the smallest count of a domain; 0 if there is none. */
  least(): number {
    return (this.#least ??= this.#findLeast());
  }

  #findLeast(): number {
    if (this.#delta === undefined) return this.#tally.least() ?? 0;
    const changed = new Map<number, number>();
    let least: number | undefined;
    for (const [domain, by] of this.#delta) {
      const before = this.#tally.count(domain);
      changed.set(before, (changed.get(before) ?? 0) + 1);
      if (least === undefined || before + by < least) least = before + by;
    }
    const others = this.#tally.least(changed);
    return Math.min(least ?? Infinity, others ?? Infinity);
  }
}
