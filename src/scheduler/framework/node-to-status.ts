// The status of each rejected node, for one pod in one cycle. Remembered results of thousands of
// nodes are not copied: for most pods that fit nowhere, only totals are needed.

import type { SnapshotReader } from './snapshot.ts';
import type { NodeAnswers } from './node-memo.ts';
import type { Status } from './status.ts';

/** Adjacent nodes of the snapshot, with remembered results of other pods of the same template. */
export interface KnownAnswers {
  readonly snapshot: SnapshotReader;
  readonly answers: NodeAnswers<Status | undefined>;
  /** The position of the first node. The first node of the snapshot follows its last one. */
  readonly start: number;
  readonly count: number;
  /** The number of rejected nodes among them. */
  readonly refused: number;
  /** The position of the pod's own nominated node, whose status is not remembered; -1 for none. */
  readonly nominatedPosition: number;
}

const UNKNOWN = -1;

export class NodeToStatus {
  /** Parallel arrays: the node, its position in the snapshot if known, and its status. */
  readonly #nodes: { readonly name: string }[] = [];
  readonly #positions: number[] = [];
  readonly #statuses: Status[] = [];
  /** The results that are not in #nodes. A node is in exactly one of the two. */
  #known: KnownAnswers | undefined;
  #byName: Map<string, Status> | undefined;
  #counts: Map<Status, number> | undefined;
  /** The status of nodes that were not evaluated, because PreFilter excluded them. */
  #absent: Status | undefined;

  /**
   * Sets the status of a node, once per node. `position`: of the node in the snapshot, if known.
   */
  set(node: { readonly name: string }, status: Status, position = UNKNOWN): void {
    this.#nodes.push(node);
    this.#positions.push(position);
    this.#statuses.push(status);
    this.#byName?.set(node.name, status);
    this.#counts = undefined;
  }

  /**
   * Sets the remembered results of nodes for which `set` was not called. May be called once; the
   * results must not change afterwards.
   */
  setKnown(known: KnownAnswers): void {
    this.#known = known;
    this.#counts = undefined;
  }

  setAbsent(status: Status): void {
    this.#absent = status;
  }

  /** The number of nodes with an individual status. */
  get size(): number {
    return this.#nodes.length + (this.#known?.refused ?? 0);
  }

  get absent(): Status | undefined {
    return this.#absent;
  }

  /**
   * Returns the status of a node that did not pass; undefined if it was neither evaluated nor
   * excluded.
   */
  get(name: string): Status | undefined {
    this.#byName ??= new Map(this.#nodes.map((node, i) => [node.name, this.#statuses[i]!]));
    return this.#byName.get(name) ?? this.#knownOf(name) ?? this.#absent;
  }

  /** Returns the number of nodes with an individual status, by status. */
  counts(): ReadonlyMap<Status, number> {
    if (this.#counts !== undefined) return this.#counts;
    const counts = new Map<Status, number>();
    // Most nodes have one of a few statuses, and equal ones are adjacent.
    const count = (status: Status | undefined, times: number): void => {
      if (status !== undefined) counts.set(status, (counts.get(status) ?? 0) + times);
    };
    for (const [from, to] of this.#knownRanges()) this.#known?.answers.forEachRun(from, to, count);
    for (let i = 0; i < this.#statuses.length;) {
      const first = i;
      const status = this.#statuses[i]!;
      while (i < this.#statuses.length && this.#statuses[i] === status) i++;
      count(status, i - first);
    }
    this.#counts = counts;
    return counts;
  }

  /**
   * Writes the positions of nodes with an individual status of this code into `positions`, from its
   * beginning, and returns their number. Nodes outside of the snapshot are left out.
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
      const known = this.#positions[i]!;
      const position = known === UNKNOWN ? snapshot.positionOf(this.#nodes[i]!.name) : known;
      if (position !== undefined) positions[found++] = position;
    }
    return found;
  }

  /** Reports whether every node of the snapshot has an individual status with this code. */
  allWith(code: Status['code'], snapshot: SnapshotReader): boolean {
    if (this.size !== snapshot.nodes.length) return false;
    for (const status of this.counts().keys()) if (status.code !== code) return false;
    return true;
  }

  /** Returns ranges [from, to) of positions in #known, without `nominatedPosition`. */
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
