// The domain of each node in one topology, by position: a value that is read for hundreds of nodes
// for every pod is in an array, because reading the label of a node misses the processor's cache
// several times.

import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { SnapshotReader } from '#scheduler/framework/snapshot.ts';
import { SnapshotFollower } from '#scheduler/framework/snapshot-changes.ts';
import { topologyValue } from './labels.ts';

/** The number of nodes without a domain. */
const NOWHERE = -1;

export class NodeDomains {
  readonly #snapshot: SnapshotReader;
  readonly #topologyKey: string;
  readonly #follower: SnapshotFollower;
  readonly #numbers = new Map<string, number>();
  /** By position: the number of the domain, or NOWHERE. */
  #domainAt = new Int32Array(0);
  /** By number + 1: the last call of `different` that has met the domain. */
  #metIn = new Uint32Array(64);
  #calls = 0;

  constructor(snapshot: SnapshotReader, topologyKey: string) {
    this.#snapshot = snapshot;
    this.#topologyKey = topologyKey;
    this.#follower = new SnapshotFollower(snapshot.podGroups.nodeChanges);
  }

  /** Brings the domains to the snapshot's state. */
  update(): void {
    this.#snapshot.podGroups.update();
    this.#follower.follow(
      () => {
        const { nodes } = this.#snapshot;
        this.#numbers.clear();
        this.#domainAt = Int32Array.from(nodes, (node) => this.#numberOf(node));
      },
      (position) => {
        this.#domainAt[position] = this.#numberOf(this.#snapshot.nodes[position]!);
      },
    );
  }

  /** Reports whether the node at this position has the label of the topology. */
  has(position: number): boolean {
    return this.#domainAt[position] !== NOWHERE;
  }

  /**
   * Returns the number of different domains of the first `count` positions. Nodes without a domain
   * count as one domain. `ignored`: 1 for each of these positions that is left out. Default: none.
   */
  different(positions: readonly number[], count: number, ignored?: Uint8Array): number {
    if (this.#metIn.length <= this.#numbers.size)
      this.#metIn = new Uint32Array(2 * this.#numbers.size);
    const call = ++this.#calls;
    let different = 0;
    for (let i = 0; i < count; i++) {
      if (ignored?.[i] === 1) continue;
      const index = this.#domainAt[positions[i]!]! + 1;
      if (this.#metIn[index] === call) continue;
      this.#metIn[index] = call;
      different++;
    }
    return different;
  }

  #numberOf({ node }: NodeInfo): number {
    const domain = topologyValue(node, this.#topologyKey);
    if (domain === undefined) return NOWHERE;
    let number = this.#numbers.get(domain);
    if (number === undefined) this.#numbers.set(domain, (number = this.#numbers.size));
    return number;
  }
}
