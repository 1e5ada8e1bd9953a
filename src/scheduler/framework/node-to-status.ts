// Why each node was refused, for one pod in one cycle. Of thousands of nodes, what is known of them
// from other pods is not copied: most pods that fit nowhere are asked about only as a whole.

import type { SnapshotReader } from './snapshot.ts';
import type { NodeAnswers } from './node-memo.ts';
import type { Status } from './status.ts';

/**
 * Nodes of the snapshot, one after the other, and what was said of them to other pods of the same
 * template.
 */
export interface KnownAnswers {
  readonly snapshot: SnapshotReader;
  readonly answers: NodeAnswers<Status | undefined>;
  /** The position of the first of them. After the last one of the snapshot comes its first one. */
  readonly start: number;
  readonly count: number;
  /** How many of them were refused. */
  readonly refused: number;
  /** The position of the pod's own nominated node, which was asked apart; -1 for none. */
  readonly nominatedPosition: number;
}

const UNKNOWN = -1;

export class NodeToStatus {
  /**
   * Parallel: the node, where it is in the snapshot if that is known, and what it was refused with.
   */
  readonly #nodes: { readonly name: string }[] = [];
  readonly #positions: number[] = [];
  readonly #statuses: Status[] = [];
  /** The results that are not in #nodes. A node is in one of the two, once. */
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

  /**
   * Sets the results of rejected nodes for which `set` was not called. Called once; the results
   * must not change afterwards.
   */
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

  /**
   * The status of a node that did not pass. Undefined if it was neither looked at nor ruled out.
   */
  get(name: string): Status | undefined {
    this.#byName ??= new Map(
      this.#nodes.map((node, i) => [node.name, this.#statuses[i] as Status]),
    );
    return this.#byName.get(name) ?? this.#knownOf(name) ?? this.#absent;
  }

  /** By status, how many nodes were refused by name with it. */
  counts(): ReadonlyMap<Status, number> {
    if (this.#counts !== undefined) return this.#counts;
    const counts = new Map<Status, number>();
    // Most nodes are refused with the same few statuses, one after the other.
    const count = (status: Status | undefined, times: number): void => {
      if (status !== undefined) counts.set(status, (counts.get(status) ?? 0) + times);
    };
    for (const [from, to] of this.#knownRanges()) this.#known?.answers.forEachRun(from, to, count);
    for (let i = 0; i < this.#statuses.length;) {
      const first = i;
      const status = this.#statuses[i] as Status;
      while (i < this.#statuses.length && this.#statuses[i] === status) i++;
      count(status, i - first);
    }
    this.#counts = counts;
    return counts;
  }

  /**
   * Where the nodes are that were refused by name with a status of this code; those that are not in
   * the snapshot are left out. They are put into `positions`, from its beginning; answers how many
   * they are.
   */
  positionsWith(code: Status['code'], snapshot: SnapshotReader, positions: number[]): number {
    let found = 0;
    for (const [from, to] of this.#knownRanges()) {
      for (let position = from; position < to; position++) {
        if (this.#known?.answers.get(position)?.code === code) positions[found++] = position;
      }
    }
    for (let i = 0; i < this.#statuses.length; i++) {
      if (this.#statuses[i]?.code !== code) continue;
      const known = this.#positions[i] as number;
      const position =
        known === UNKNOWN
          ? snapshot.positionOf((this.#nodes[i] as { readonly name: string }).name)
          : known;
      if (position !== undefined) positions[found++] = position;
    }
    return found;
  }

  /** Whether every node of the snapshot was refused by name with a status of this code. */
  allWith(code: Status['code'], snapshot: SnapshotReader): boolean {
    if (this.size !== snapshot.nodes.length) return false;
    for (const status of this.counts().keys()) if (status.code !== code) return false;
    return true;
  }

  /** Positions [from, to) of which #known tells, `nominatedPosition` left out. */
  #knownRanges(): readonly (readonly [from: number, to: number])[] {
    if (this.#known === undefined) return [];
    const { snapshot, start, count, nominatedPosition } = this.#known;
    const size = snapshot.nodes.length;
    const end = start + count;
    const ranges: readonly (readonly [number, number])[] =
      end <= size
        ? [[start, end]]
        : [
            [start, size],
            [0, end - size],
          ];
    return ranges.flatMap(([from, to]) =>
      nominatedPosition >= from && nominatedPosition < to
        ? [
            [from, nominatedPosition],
            [nominatedPosition + 1, to],
          ]
        : [[from, to]],
    ) satisfies readonly (readonly [number, number])[];
  }

  #knownOf(name: string): Status | undefined {
    if (this.#known === undefined) return undefined;
    const { snapshot, answers, start, count, nominatedPosition } = this.#known;
    const position = snapshot.positionOf(name);
    if (position === undefined || position === nominatedPosition) return undefined;
    const size = snapshot.nodes.length;
    return (position - start + size) % size < count ? answers.get(position) : undefined;
  }
}
