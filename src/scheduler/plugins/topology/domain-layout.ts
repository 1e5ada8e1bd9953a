// The domain of each node of a snapshot in one topology. It depends on the nodes alone, so that all
// tallies of a topology share it: a selection of pods that is new costs nothing for each node.

import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { SnapshotReader } from '#scheduler/framework/snapshot.ts';
import { SnapshotFollower } from '#scheduler/framework/snapshot-changes.ts';

/** The number for nodes without a domain. */
export const NOWHERE = -1;

export class DomainLayout {
  readonly #snapshot: SnapshotReader;
  readonly #domainOf: (node: NodeInfo) => string | undefined;
  readonly #follower: SnapshotFollower;
  #version = 0;
  /** By position: the number of the node's domain; NOWHERE for none. */
  #numberAt = new Int32Array(0);
  readonly #numbers = new Map<string, number>();
  /** By number: also of domains that have no node any more. */
  #names: string[] = [];
  #nodes: number[] = [];
  #size = 0;
  #placed = 0;

  /**
   * Creates a layout, which is empty until the first update. `domainOf`: returns undefined for a
   * node without a domain. It must depend on the Node object only, not on its pods.
   */
  constructor(snapshot: SnapshotReader, domainOf: (node: NodeInfo) => string | undefined) {
    this.#snapshot = snapshot;
    this.#domainOf = domainOf;
    this.#follower = new SnapshotFollower(snapshot.podGroups.nodeChanges);
  }

  /** Brings the domains to the snapshot's state. The pod groups must be up to date. */
  update(): void {
    this.#follower.follow(
      () => this.#reset(),
      (position) => this.#move(position),
    );
  }

  /** Changes whenever a node has got another domain or position. */
  get version(): number {
    return this.#version;
  }

  /** The number of domains that have nodes. */
  get size(): number {
    return this.#size;
  }

  /** The number of numbers in use. */
  get numbers(): number {
    return this.#names.length;
  }

  /** Whether every domain has at most one node. */
  get separate(): boolean {
    return this.#placed === this.#size;
  }

  /** Returns the number of the domain of the node at this position; NOWHERE for none. */
  numberAt(position: number): number {
    return this.#numberAt[position]!;
  }

  /** Returns the number of a domain that has nodes. */
  numberOf(domain: string): number | undefined {
    const number = this.#numbers.get(domain);
    return number === undefined || this.#nodes[number] === 0 ? undefined : number;
  }

  /** Returns the domain of the node at this position; undefined for none. */
  domainAt(position: number): string | undefined {
    return this.#names[this.#numberAt[position]!];
  }

  #reset(): void {
    this.#version++;
    this.#numbers.clear();
    this.#names = [];
    this.#nodes = [];
    this.#size = 0;
    this.#placed = 0;
    this.#numberAt = Int32Array.from(this.#snapshot.nodes, (node) => this.#enter(node));
  }

  #move(position: number): void {
    const before = this.#numberAt[position]!;
    const node = this.#snapshot.nodes[position]!;
    if (this.#domainOf(node) === this.#names[before]) return;
    this.#version++;
    if (before !== NOWHERE) {
      this.#placed--;
      if (--this.#nodes[before]! === 0) this.#size--;
    }
    this.#numberAt[position] = this.#enter(node);
  }

  /** Counts the node in its domain. Returns the domain's number. */
  #enter(node: NodeInfo): number {
    const domain = this.#domainOf(node);
    if (domain === undefined) return NOWHERE;
    let number = this.#numbers.get(domain);
    if (number === undefined) {
      number = this.#names.length;
      this.#numbers.set(domain, number);
      this.#names.push(domain);
      this.#nodes.push(0);
    }
    this.#placed++;
    if (this.#nodes[number]!++ === 0) this.#size++;
    return number;
  }
}
