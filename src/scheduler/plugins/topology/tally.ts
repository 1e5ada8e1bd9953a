// Counts selected pods on each node and in each topology domain (zone, host, …). Updates cost in
// proportion to the changed pods, and all pods with the same selection share a tally.

import type { PodCounter, PodSelection, SnapshotReader } from '#scheduler/framework/snapshot.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import { type DomainLayout, NOWHERE } from './domain-layout.ts';

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
  #counts = new Int32Array(0);

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
    this.#counts = new Int32Array(nodes.length);
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

/** Counts the selected pods on the nodes of each domain. */
export class DomainTally implements Tally, PodCounter {
  readonly selection: PodSelection;
  readonly #snapshot: SnapshotReader;
  readonly #layout: DomainLayout;
  /** The version of the layout to which the values below belong: -1 before the first update. */
  #version = -1;
  /** By the number of the domain. */
  #counts = new Int32Array(0);
  /** Count → the number of domains with it; no entry is 0. */
  readonly #domainsWith = new Map<number, number>();
  /** A lower bound of all domains' counts. */
  #floor = 0;
  #total = 0;

  constructor(snapshot: SnapshotReader, layout: DomainLayout, selection: PodSelection) {
    this.selection = selection;
    this.#snapshot = snapshot;
    this.#layout = layout;
    snapshot.podGroups.follow(this);
  }

  close(): void {
    this.#snapshot.podGroups.unfollow(this);
  }

  update(): void {
    this.#snapshot.podGroups.update();
    this.#layout.update();
    if (this.#version !== this.#layout.version) this.#reset();
  }

  changed(position: number, by: number): void {
    // Otherwise the next update counts anew.
    if (this.#version !== this.#layout.version) return;
    const number = this.#layout.numberAt(position);
    if (number === NOWHERE) return;
    const before = this.#counts[number]!;
    const count = before + by;
    this.#counts[number] = count;
    this.#total += by;
    this.#countDomains(before, -1);
    this.#countDomains(count, 1);
    if (count < this.#floor) this.#floor = count;
  }

  /** The number of domains. */
  get size(): number {
    return this.#layout.size;
  }

  /** The sum over all domains. */
  get total(): number {
    return this.#total;
  }

  /** Whether every domain has at most one node. */
  get separate(): boolean {
    return this.#layout.separate;
  }

  count(domain: string): number {
    const number = this.#layout.numberOf(domain);
    return number === undefined ? 0 : this.#counts[number]!;
  }

  /** Returns the domain of the node at this position of the snapshot; undefined for none. */
  domainAt(position: number): string | undefined {
    return this.#layout.domainAt(position);
  }

  /**
   * Returns the count of a domain without reading the node: called for hundreds of nodes for every
   * pod.
   */
  countAt(position: number): number | undefined {
    const number = this.#layout.numberAt(position);
    return number === NOWHERE ? undefined : this.#counts[number];
  }

  /**
   * Returns the smallest count of a domain; undefined if there is none. `without`: by count, the
   * number of domains to leave out.
   */
  least(without?: ReadonlyMap<number, number>): number | undefined {
    const { size } = this.#layout;
    if (size === 0) return undefined;
    while (!this.#domainsWith.has(this.#floor)) this.#floor++;
    if (without === undefined) return this.#floor;
    let left = size;
    for (let count = this.#floor; left > 0; count++) {
      const here = this.#domainsWith.get(count) ?? 0;
      if (here > (without.get(count) ?? 0)) return count;
      left -= here;
    }
    return undefined;
  }

  #reset(): void {
    const { size, numbers, version } = this.#layout;
    this.#version = version;
    this.#counts = new Int32Array(numbers);
    this.#domainsWith.clear();
    if (size > 0) this.#domainsWith.set(0, size);
    this.#floor = 0;
    this.#total = 0;
    this.#snapshot.podGroups.forEachCount(this, (position, count) => this.changed(position, count));
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
