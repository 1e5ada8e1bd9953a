// How many pods of a kind there are on each node and in each topology domain (zone, host, …), kept
// up to date at the cost of the pods of that kind that have come and gone, and shared by all pods
// that ask the same.

import type { PodCounter, PodSelection, SnapshotReader } from '#scheduler/framework/snapshot.ts';
import { SnapshotFollower } from '#scheduler/framework/snapshot-changes.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';

/** Something kept for each position of a snapshot. */
export interface Tally {
  /** Brings it up to the snapshot's present. */
  update(): void;
  /** It will not be asked again. */
  close(): void;
}

/** How many of the selected pods there are on each node. */
export class NodeTally implements Tally, PodCounter {
  readonly selection: PodSelection;
  readonly #snapshot: SnapshotReader;
  /** Which positions those of #counts are: -1 before the first update. */
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
    this.#counts[position] = (this.#counts[position] as number) + by;
  }

  /** The count of a node in the snapshot; 0 for others. */
  count(node: NodeInfo): number {
    const position = this.#snapshot.positionOf(node.name);
    return position === undefined ? 0 : (this.#counts[position] ?? 0);
  }
}

/** The number of no domain. */
const NOWHERE = -1;

interface Domain {
  readonly name: string;
  /** Its index in #numbered and #counts: of its own until positions mean other nodes. */
  readonly number: number;
  nodes: number;
  count: number;
}

/** How many of the selected pods there are on the nodes of each domain. */
export class DomainTally implements Tally, PodCounter {
  readonly selection: PodSelection;
  readonly #snapshot: SnapshotReader;
  readonly #nodeFollower: SnapshotFollower;
  readonly #domainOf: (node: NodeInfo) => string | undefined;
  /** Which positions those below are: -1 before the first update. */
  #structure = -1;
  /**
   * By position: the number of the domain that the node is counted in, NOWHERE for none, and with
   * how much.
   */
  #numberAt = new Int32Array(0);
  #countAt: number[] = [];
  /**
   * By number: domains that are or were in #domains, and their counts once more, side by side for
   * who looks at many.
   */
  #numbered: Domain[] = [];
  #counts = new Int32Array(64);
  /** The domains with at least one node. */
  readonly #domains = new Map<string, Domain>();
  /** Count → how many domains have it; no entry is 0. */
  readonly #domainsWith = new Map<number, number>();
  /** No domain has less than this. */
  #floor = 0;
  #total = 0;
  /** How many nodes are in a domain. */
  #placed = 0;

  /**
   * `domainOf`: undefined if the node is in no domain. It depends on the node alone, not on what
   * runs there.
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
        const name = this.#domainOf(this.#snapshot.nodes[position] as NodeInfo);
        if (name === before?.name) return;
        const count = this.#countAt[position] as number;
        if (before !== undefined) this.#change(before, -1, -count);
        this.#numberAt[position] = name === undefined ? NOWHERE : this.#put(name, count);
      },
    );
  }

  changed(position: number, by: number): void {
    if (this.#structure !== this.#snapshot.podGroups.nodeChanges.structure) return;
    this.#countAt[position] = (this.#countAt[position] as number) + by;
    const domain = this.#domainAt(position);
    if (domain !== undefined) this.#change(domain, 0, by);
  }

  /** How many domains there are. */
  get size(): number {
    return this.#domains.size;
  }

  /** The sum over all domains. */
  get total(): number {
    return this.#total;
  }

  /** No two nodes are in the same domain. */
  get separate(): boolean {
    return this.#placed === this.#domains.size;
  }

  count(domain: string): number {
    return this.#domains.get(domain)?.count ?? 0;
  }

  /**
   * The domain that the node at this position of the snapshot is counted in; undefined for none.
   */
  domainAt(position: number): string | undefined {
    return this.#domainAt(position)?.name;
  }

  /**
   * Returns the count of a domain without reading the node: called for hundreds of nodes for every
   * pod.
   */
  countAt(position: number): number | undefined {
    const number = this.#numberAt[position] as number;
    return number === NOWHERE ? undefined : this.#counts[number];
  }

  /**
   * The smallest count of a domain; undefined if there is none. `without`: how many domains with
   * each count to leave out.
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
    return this.#numbered[this.#numberAt[position] as number];
  }

  /** A node with so many is in this domain, too. Answers the domain's number. */
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

  /** `domain`: one of #domains. */
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

/** A DomainTally as of one cycle, with pods added and removed on trial. */
export class DomainCounts {
  readonly #tally: DomainTally;
  /** The hypothetical changes; undefined: none. */
  #delta: Map<string, number> | undefined;
  /** As `least` has found it; undefined: not since the last change. */
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

  /** No two nodes are in the same domain. */
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
   * As `count`, for the domain of the node at this position of the snapshot; undefined if it is
   * counted in none.
   */
  countAt(position: number): number | undefined {
    if (this.#delta === undefined) return this.#tally.countAt(position);
    const domain = this.#tally.domainAt(position);
    return domain === undefined ? undefined : this.count(domain);
  }

  /** The smallest count of a domain; 0 if there is none. */
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
