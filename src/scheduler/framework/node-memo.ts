// Remembers results of plugins about nodes for pods of one template, for the next pod of that
// template, as long as the node does not change. Most pods of a cluster come from few templates,
// and one scheduling cycle changes one node, so almost every result is remembered.

import type { SnapshotReader } from './snapshot.ts';

/** The number of templates with remembered results, by profile and purpose. */
const TEMPLATES = 32;
/** The number of templates that were seen once: results are remembered from the second pod on. */
const MET_ONCE = 256;
const NEVER = -1;

/** Results about the nodes of a snapshot, by position. */
export class NodeAnswers<T> {
  /** The present versions of the nodes of the snapshot. */
  readonly #current: Float64Array;
  /** The versions of the nodes to which the results belong. */
  readonly #versions: Float64Array;
  readonly #answers: T[];
  readonly #none: T;

  constructor({ size, versions }: Layout, none: T) {
    this.#current = versions;
    this.#versions = new Float64Array(size).fill(NEVER);
    this.#answers = Array.from({ length: size }, () => none);
    this.#none = none;
  }

  /** Reports whether `get` is valid for the node as it is now, with the pods nominated to it. */
  has(position: number): boolean {
    return this.#versions[position] === this.#current[position];
  }

  get(position: number): T {
    return this.#answers[position]!;
  }

  /**
   * Returns the number of positions, from this one on and before `end`, that have a current result
   * other than «none».
   */
  runFrom(position: number, end: number): number {
    const current = this.#current;
    const versions = this.#versions;
    const answers = this.#answers;
    const none = this.#none;
    let at = position;
    while (at < end && versions[at] === current[at] && answers[at] !== none) at++;
    return at - position;
  }

  /**
   * Calls back with each result other than «none» at these positions, and the number of consecutive
   * equal ones.
   */
  forEachRun(position: number, end: number, found: (answer: T, times: number) => void): void {
    const answers = this.#answers;
    for (let at = position; at < end;) {
      const first = at;
      const answer = answers[at]!;
      while (at < end && answers[at] === answer) at++;
      if (answer !== this.#none) found(answer, at - first);
    }
  }

  set(position: number, answer: T): void {
    this.#versions[position] = this.#current[position]!;
    this.#answers[position] = answer;
  }

  forget(position: number): void {
    this.#versions[position] = NEVER;
  }
}

/** The layout of a snapshot: which nodes its positions refer to. */
export interface Layout {
  readonly structure: number;
  readonly size: number;
  /** SnapshotReader.versions: the same array as long as `structure` is the same. */
  readonly versions: Float64Array;
}

export function layoutOf({ nodes, changes, versions }: SnapshotReader): Layout {
  return { structure: changes.structure, size: nodes.length, versions };
}

export class NodeMemo<T> {
  readonly #none: T;
  readonly #tables = new Map<string, NodeAnswers<T>>();
  readonly #metOnce = new Set<string>();
  #structure = NEVER;

  constructor(none: T) {
    this.#none = none;
  }

  /** Returns the results for the template; undefined for a new template. */
  of(template: string, layout: Layout): NodeAnswers<T> | undefined {
    const { structure } = layout;
    if (structure !== this.#structure) {
      this.#tables.clear();
      this.#structure = structure;
    }
    const known = this.#tables.get(template);
    if (known !== undefined) {
      if (this.#tables.size > 1) touch(this.#tables, template, known);
      return known;
    }
    if (!this.#metOnce.delete(template)) {
      this.#metOnce.add(template);
      if (this.#metOnce.size > MET_ONCE) this.#metOnce.delete(first(this.#metOnce));
      return undefined;
    }
    const made = new NodeAnswers(layout, this.#none);
    this.#tables.set(template, made);
    if (this.#tables.size > TEMPLATES) this.#tables.delete(first(this.#tables));
    return made;
  }

  /**
   * Drops the results about the node at this position, for a reason that is not in the snapshot.
   */
  forget(position: number): void {
    for (const answers of this.#tables.values()) answers.forget(position);
  }
}

/** Moves an entry to the end, so that the first entry is the least recently used. */
function touch<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

function first(keys: { keys(): IterableIterator<string> }): string {
  return keys.keys().next().value as string;
}
