// How many pods of a kind there are on each node and in each topology domain (zone, host, …), kept up to date at the cost of
// the nodes that have changed, and shared by all pods that ask the same.

import { SnapshotFollower, type SnapshotReader } from '../../cache/snapshot.ts';
import type { NodeInfo } from '../../framework/node-info.ts';

/** Something kept for each position of a snapshot. `update` brings it up to the snapshot's present. */
export interface Tally {
  update(): void;
}

/** A number for each node. */
export class NodeTally implements Tally {
  readonly #snapshot: SnapshotReader;
  readonly #follower: SnapshotFollower;
  readonly #countOf: (node: NodeInfo) => number;
  #counts: number[] = [];

  constructor(snapshot: SnapshotReader, countOf: (node: NodeInfo) => number) {
    this.#snapshot = snapshot;
    this.#follower = new SnapshotFollower(snapshot);
    this.#countOf = countOf;
  }

  update(): void {
    const { nodes } = this.#snapshot;
    this.#follower.follow(
      () => {
        this.#counts = nodes.map(this.#countOf);
      },
      (position) => {
        this.#counts[position] = this.#countOf(nodes[position] as NodeInfo);
      },
    );
  }

  /** Of a node in the snapshot; 0 for others. */
  count(node: NodeInfo): number {
    const position = this.#snapshot.positionOf(node.name);
    return position === undefined ? 0 : (this.#counts[position] ?? 0);
  }
}

interface Domain {
  nodes: number;
  count: number;
}

/** The sums over the nodes of each domain. */
export class DomainTally implements Tally {
  readonly #snapshot: SnapshotReader;
  readonly #follower: SnapshotFollower;
  readonly #domainOf: (node: NodeInfo) => string | undefined;
  readonly #countOf: (node: NodeInfo) => number;
  /** By position: the domain that the node is counted in, and with how much. */
  #domainAt: (string | undefined)[] = [];
  #countAt: number[] = [];
  /** Those with at least one node. */
  readonly #domains = new Map<string, Domain>();
  /** Count → how many domains have it; no entry is 0. */
  readonly #domainsWith = new Map<number, number>();
  /** No domain has less than this. */
  #floor = 0;
  #total = 0;

  /** `domainOf`: undefined if the node is in no domain. */
  constructor(snapshot: SnapshotReader, domainOf: (node: NodeInfo) => string | undefined, countOf: (node: NodeInfo) => number) {
    this.#snapshot = snapshot;
    this.#follower = new SnapshotFollower(snapshot);
    this.#domainOf = domainOf;
    this.#countOf = countOf;
  }

  update(): void {
    this.#follower.follow(
      () => this.#reset(),
      (position) => {
        const domain = this.#domainAt[position];
        if (domain !== undefined) this.#change(domain, -1, -(this.#countAt[position] as number));
        this.#enter(position);
      },
    );
  }

  /** How many domains there are. */
  get size(): number {
    return this.#domains.size;
  }

  /** The sum over all domains. */
  get total(): number {
    return this.#total;
  }

  count(domain: string): number {
    return this.#domains.get(domain)?.count ?? 0;
  }

  /** The smallest count of a domain; undefined if there is none. `without`: how many domains with each count to leave out. */
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
    this.#domains.clear();
    this.#domainsWith.clear();
    this.#floor = 0;
    this.#total = 0;
    const { length } = this.#snapshot.nodes;
    this.#domainAt = Array.from<string | undefined>({ length });
    this.#countAt = Array.from({ length }, () => 0);
    for (let position = 0; position < length; position++) this.#enter(position);
  }

  #enter(position: number): void {
    const node = this.#snapshot.nodes[position] as NodeInfo;
    const domain = this.#domainOf(node);
    const count = domain === undefined ? 0 : this.#countOf(node);
    this.#domainAt[position] = domain;
    this.#countAt[position] = count;
    if (domain !== undefined) this.#change(domain, 1, count);
  }

  #change(name: string, nodes: number, count: number): void {
    let domain = this.#domains.get(name);
    if (domain === undefined) {
      domain = { nodes: 0, count: 0 };
      this.#domains.set(name, domain);
    } else {
      this.#countDomains(domain.count, -1);
    }
    domain.nodes += nodes;
    domain.count += count;
    this.#total += count;
    if (domain.nodes === 0) {
      this.#domains.delete(name);
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
  /** What the trial changes; undefined: nothing. */
  #delta: Map<string, number> | undefined;

  constructor(tally: DomainTally, delta?: ReadonlyMap<string, number>) {
    this.#tally = tally;
    this.#delta = delta === undefined ? undefined : new Map(delta);
  }

  clone(): DomainCounts {
    return new DomainCounts(this.#tally, this.#delta);
  }

  add(domain: string, by: number): void {
    this.#delta ??= new Map();
    this.#delta.set(domain, (this.#delta.get(domain) ?? 0) + by);
  }

  get size(): number {
    return this.#tally.size;
  }

  get total(): number {
    let { total } = this.#tally;
    if (this.#delta !== undefined) for (const by of this.#delta.values()) total += by;
    return total;
  }

  count(domain: string): number {
    return this.#tally.count(domain) + (this.#delta?.get(domain) ?? 0);
  }

  /** The smallest count of a domain; 0 if there is none. */
  least(): number {
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
