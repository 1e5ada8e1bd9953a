// Why each node was refused, for one pod in one cycle. Of thousands of nodes nothing is looked at here before somebody asks for it by
// name.

import type { Status } from './status.ts';

interface Named {
  readonly name: string;
}

const UNKNOWN = -1;

export class NodeToStatus {
  /** Parallel: the node, where it is in the snapshot if that is known, and what it was refused with. A node is in it at most once. */
  readonly #nodes: Named[] = [];
  readonly #positions: number[] = [];
  readonly #statuses: Status[] = [];
  #byName: Map<string, Status> | undefined;
  /** For nodes that were not looked at, since PreFilter had ruled them out. */
  #absent: Status | undefined;

  /** A node is set once. `position`: that of the node in the snapshot, if it is at hand. */
  set(node: Named, status: Status, position = UNKNOWN): void {
    this.#nodes.push(node);
    this.#positions.push(position);
    this.#statuses.push(status);
    this.#byName?.set(node.name, status);
  }

  setAbsent(status: Status): void {
    this.#absent = status;
  }

  /** How many nodes were refused by name. */
  get size(): number {
    return this.#nodes.length;
  }

  get absent(): Status | undefined {
    return this.#absent;
  }

  /** The status of a node that did not pass. Undefined if it was neither looked at nor ruled out. */
  get(name: string): Status | undefined {
    this.#byName ??= new Map(this.#nodes.map((node, i) => [node.name, this.#statuses[i] as Status]));
    return this.#byName.get(name) ?? this.#absent;
  }

  /** Where the nodes are that were refused by name with a status of this code; those that are not in the snapshot are left out. */
  positionsWith(code: Status['code'], snapshot: { positionOf(name: string): number | undefined }): readonly number[] {
    const found: number[] = [];
    for (let i = 0; i < this.#statuses.length; i++) {
      if (this.#statuses[i]?.code !== code) continue;
      const known = this.#positions[i] as number;
      const position = known === UNKNOWN ? snapshot.positionOf((this.#nodes[i] as Named).name) : known;
      if (position !== undefined) found.push(position);
    }
    return found;
  }

  statuses(): readonly Status[] {
    return this.#statuses;
  }
}
