// Why each node was refused, for one pod in one cycle. Of thousands of nodes, what is known of them from other pods is not copied:
// most pods that fit nowhere are asked about only as a whole.

import type { SnapshotReader } from '../cache/snapshot.ts';
import type { NodeAnswers } from './node-memo.ts';
import type { Answer } from './plugin.ts';
import type { Status } from './status.ts';

/** Nodes of the snapshot, one after the other, and what was said of them to other pods of the same template. */
export interface KnownAnswers {
  readonly snapshot: SnapshotReader;
  readonly answers: NodeAnswers<Answer>;
  /** The position of the first of them. After the last one of the snapshot comes its first one. */
  readonly start: number;
  readonly count: number;
  /** How many of them were refused. */
  readonly refused: number;
  /** A position of which something else is known; -1 for none. */
  readonly own: number;
}

const UNKNOWN = -1;

export class NodeToStatus {
  /** Parallel: the node, where it is in the snapshot if that is known, and what it was refused with. */
  readonly #nodes: { readonly name: string }[] = [];
  readonly #positions: number[] = [];
  readonly #statuses: Status[] = [];
  /** Those not in #nodes: a node is in one of both, and there once. */
  #known: KnownAnswers | undefined;
  #byName: Map<string, Status> | undefined;
  #counts: Map<Status, number> | undefined;
  /** For nodes that were not looked at, since PreFilter had ruled them out. */
  #absent: Status | undefined;

  /** A node is set once. `position`: that of the node in the snapshot, if it is at hand. */
  set(node: { readonly name: string }, status: Status, position = UNKNOWN): void {
    this.#nodes.push(node);
    this.#positions.push(position);
    this.#statuses.push(status);
    this.#byName?.set(node.name, status);
    this.#counts = undefined;
  }

  /** Of those of them that are refused and for which there was no `set`. Once, and they must stay as they are. */
  setKnown(known: KnownAnswers): void {
    this.#known = known;
    this.#counts = undefined;
  }

  setAbsent(status: Status): void {
    this.#absent = status;
  }

  /** How many nodes were refused by name. */
  get size(): number {
    return this.#nodes.length + (this.#known?.refused ?? 0);
  }

  get absent(): Status | undefined {
    return this.#absent;
  }

  /** The status of a node that did not pass. Undefined if it was neither looked at nor ruled out. */
  get(name: string): Status | undefined {
    this.#byName ??= new Map(this.#nodes.map((node, i) => [node.name, this.#statuses[i] as Status]));
    return this.#byName.get(name) ?? this.#knownOf(name) ?? this.#absent;
  }

  /** By status, how many nodes were refused by name with it. */
  counts(): ReadonlyMap<Status, number> {
    if (this.#counts !== undefined) return this.#counts;
    const counts = new Map<Status, number>();
    // Most nodes are refused with the same few statuses, one after the other.
    let last: Status | undefined;
    let times = 0;
    const count = (status: Status): void => {
      if (status === last) {
        times++;
        return;
      }
      if (last !== undefined) counts.set(last, (counts.get(last) ?? 0) + times);
      [last, times] = [status, 1];
    };
    this.#forEachKnown((_, status) => count(status));
    this.#statuses.forEach(count);
    if (last !== undefined) counts.set(last, (counts.get(last) ?? 0) + times);
    this.#counts = counts;
    return counts;
  }

  /**
   * Where the nodes are that were refused by name with a status of this code; those that are not in the snapshot are left out.
   * They are put into `positions`, from its beginning; answers how many they are.
   */
  positionsWith(code: Status['code'], snapshot: SnapshotReader, positions: number[]): number {
    let found = 0;
    this.#forEachKnown((position, status) => {
      if (status.code === code) positions[found++] = position;
    });
    for (let i = 0; i < this.#statuses.length; i++) {
      if (this.#statuses[i]?.code !== code) continue;
      const known = this.#positions[i] as number;
      const position = known === UNKNOWN ? snapshot.positionOf((this.#nodes[i] as { readonly name: string }).name) : known;
      if (position !== undefined) positions[found++] = position;
    }
    return found;
  }

  #forEachKnown(found: (position: number, status: Status) => void): void {
    if (this.#known === undefined) return;
    const { snapshot, answers, start, count, own } = this.#known;
    const size = snapshot.nodes.length;
    for (let i = 0, position = start; i < count; i++) {
      const answer = answers.get(position);
      if (answer !== undefined && position !== own) found(position, answer);
      if (++position === size) position = 0;
    }
  }

  #knownOf(name: string): Status | undefined {
    if (this.#known === undefined) return undefined;
    const { snapshot, answers, start, count, own } = this.#known;
    const position = snapshot.positionOf(name);
    if (position === undefined || position === own) return undefined;
    const size = snapshot.nodes.length;
    return (position - start + size) % size < count ? answers.get(position) : undefined;
  }
}
