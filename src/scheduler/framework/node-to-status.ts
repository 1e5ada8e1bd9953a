// Why each node was refused, for one pod in one cycle.

import type { Status } from './status.ts';

export class NodeToStatus {
  /** Parallel: the node's name and what it was refused with. A node is in it at most once. */
  readonly #names: string[] = [];
  readonly #statuses: Status[] = [];
  #byName: Map<string, Status> | undefined;
  /** For nodes that were not looked at, since PreFilter had ruled them out. */
  #absent: Status | undefined;

  /** A node is set once. */
  set(name: string, status: Status): void {
    this.#names.push(name);
    this.#statuses.push(status);
    this.#byName?.set(name, status);
  }

  setAbsent(status: Status): void {
    this.#absent = status;
  }

  /** How many nodes were refused by name. */
  get size(): number {
    return this.#names.length;
  }

  get absent(): Status | undefined {
    return this.#absent;
  }

  /** The status of a node that did not pass. Undefined if it was neither looked at nor ruled out. */
  get(name: string): Status | undefined {
    this.#byName ??= new Map(this.#names.map((known, i) => [known, this.#statuses[i] as Status]));
    return this.#byName.get(name) ?? this.#absent;
  }

  /** The names of the nodes that were refused by name with a status of this code. */
  namesWith(code: Status['code']): readonly string[] {
    return this.#names.filter((_, i) => this.#statuses[i]?.code === code);
  }

  statuses(): readonly Status[] {
    return this.#statuses;
  }

  names(): readonly string[] {
    return this.#names;
  }
}
