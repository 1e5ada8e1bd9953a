// A set of fields, as a tree. A field can be a member itself, have members below it, or both:
// owning `metadata.labels` (that the map exists) differs from owning `metadata.labels.app`.
//
// A set is immutable once its builder passes it on; only a builder calls `insert`. Results share
// subtrees with their operands.

import { describePath, sortElements, type PathElement } from './path-element.ts';

export type Path = readonly PathElement[];

export interface FieldNode {
  readonly member: boolean;
  /** Never an empty set. A node without children is a member. */
  readonly children: FieldSet | undefined;
}

const LEAF: FieldNode = { member: true, children: undefined };

/** Returns the union; `a` itself if it contains `b`. */
function unionOfNodes(a: FieldNode, b: FieldNode): FieldNode {
  const member = a.member || b.member;
  const children =
    a.children === undefined
      ? b.children
      : b.children === undefined
        ? a.children
        : a.children.union(b.children);
  return member === a.member && children === a.children ? a : { member, children };
}

export class FieldSet {
  static readonly empty: FieldSet = new FieldSet();

  readonly #nodes: Map<PathElement, FieldNode>;

  private constructor(nodes: Map<PathElement, FieldNode> = new Map()) {
    this.#nodes = nodes;
  }

  /** Returns a set with these members. Their parents are not members. */
  static of(...paths: readonly Path[]): FieldSet {
    const set = FieldSet.building();
    for (const path of paths) set.insertPath(path);
    return set;
  }

  /** Returns an empty set that may be modified. */
  static building(): FieldSet {
    return new FieldSet();
  }

  /** Adds a path. The whole object is never a member: an empty path adds nothing. */
  insertPath(path: Path): void {
    const [first, ...rest] = path;
    if (first === undefined) return;
    if (rest.length === 0) return this.insert(first);
    const existing = this.#nodes.get(first);
    const children =
      existing?.children === undefined ? FieldSet.building() : existing.children.#copy();
    children.insertPath(rest);
    this.#nodes.set(first, { member: existing?.member ?? false, children });
  }

  /** Adds an element. For builders only. */
  insert(element: PathElement): void {
    const existing = this.#nodes.get(element);
    if (existing === undefined) this.#nodes.set(element, LEAF);
    else if (!existing.member)
      this.#nodes.set(element, { member: true, children: existing.children });
  }

  /** Replaces the node at the element. An empty node is left out. For builders only. */
  put(element: PathElement, member: boolean, children: FieldSet | undefined): void {
    if (children === undefined || children.isEmpty) {
      if (member) this.#nodes.set(element, LEAF);
    } else this.#nodes.set(element, { member, children });
  }

  get isEmpty(): boolean {
    return this.#nodes.size === 0;
  }

  /** The number of members. */
  get size(): number {
    let size = 0;
    for (const { member, children } of this.#nodes.values())
      size += (member ? 1 : 0) + (children?.size ?? 0);
    return size;
  }

  /** Returns the elements in the order of FieldsV1. */
  elements(): PathElement[] {
    return sortElements([...this.#nodes.keys()]);
  }

  /** Returns the entries in the order of FieldsV1. */
  entries(): (readonly [PathElement, FieldNode])[] {
    return this.elements().map((element) => [element, this.#nodes.get(element)!]);
  }

  node(element: PathElement): FieldNode | undefined {
    return this.#nodes.get(element);
  }

  hasMember(element: PathElement): boolean {
    return this.#nodes.get(element)?.member === true;
  }

  has(path: Path): boolean {
    let nodes: FieldSet | undefined = this;
    for (let i = 0; i < path.length; i++) {
      const node: FieldNode | undefined = nodes.#nodes.get(path[i]!);
      if (node === undefined) return false;
      if (i === path.length - 1) return node.member;
      if (node.children === undefined) return false;
      nodes = node.children;
    }
    return false;
  }

  /** Returns the fields below the element, without the element itself. */
  withPrefix(element: PathElement): FieldSet {
    return this.#nodes.get(element)?.children ?? FieldSet.empty;
  }

  /** Returns the union; this set itself if it contains the other. */
  union(other: FieldSet): FieldSet {
    if (this === other || other.isEmpty) return this;
    if (this.isEmpty) return other;
    let result: FieldSet | undefined;
    for (const element of other.#nodes.keys()) {
      const mine = this.#nodes.get(element);
      const theirs = other.#nodes.get(element)!;
      const together = mine === undefined ? theirs : unionOfNodes(mine, theirs);
      if (together === mine) continue;
      result ??= this.#copy();
      result.#nodes.set(element, together);
    }
    return result ?? this;
  }

  /** Returns the members of both sets. */
  intersection(other: FieldSet): FieldSet {
    if (this === other) return this;
    const result = FieldSet.building();
    const [small, large] = this.#nodes.size <= other.#nodes.size ? [this, other] : [other, this];
    for (const [element, a] of small.#nodes) {
      const b = large.#nodes.get(element);
      if (b === undefined) continue;
      const children =
        a.children === undefined || b.children === undefined
          ? undefined
          : a.children.intersection(b.children);
      result.put(element, a.member && b.member, children);
    }
    return result;
  }

  /**
   * Returns the members that the other set does not have. A parent in the other set does not remove
   * its children, nor the reverse.
   */
  difference(other: FieldSet): FieldSet {
    return this.#without(other, false);
  }

  /**
   * Returns the members that the other set does not have, and that are not below a member of it.
   */
  recursiveDifference(other: FieldSet): FieldSet {
    return this.#without(other, true);
  }

  #without(other: FieldSet, recursive: boolean): FieldSet {
    if (this.isEmpty || other.isEmpty) return this;
    let result: FieldSet | undefined;
    const [small, large] = this.#nodes.size <= other.#nodes.size ? [this, other] : [other, this];
    for (const element of small.#nodes.keys()) {
      if (!large.#nodes.has(element)) continue;
      const mine = this.#nodes.get(element)!;
      const theirs = other.#nodes.get(element)!;
      const member = mine.member && !theirs.member;
      const children =
        mine.children === undefined || (recursive && theirs.member)
          ? undefined
          : theirs.children === undefined
            ? mine.children
            : mine.children.#without(theirs.children, recursive);
      if (member === mine.member && children === mine.children) continue;
      result ??= this.#copy();
      result.#nodes.delete(element);
      result.put(element, member, children);
    }
    return result ?? this;
  }

  /** Returns the members without members below them. */
  leaves(): FieldSet {
    const result = FieldSet.building();
    for (const [element, { member, children }] of this.#nodes) {
      result.put(element, member && children === undefined, children?.leaves());
    }
    return result;
  }

  equals(other: FieldSet): boolean {
    if (this === other) return true;
    if (this.#nodes.size !== other.#nodes.size) return false;
    for (const [element, a] of this.#nodes) {
      const b = other.#nodes.get(element);
      if (b === undefined || a.member !== b.member) return false;
      if (a.children === undefined || b.children === undefined) {
        if (a.children !== b.children) return false;
      } else if (!a.children.equals(b.children)) return false;
    }
    return true;
  }

  /** Iterates over the paths of all members: those of a level in order, before those below them. */
  *paths(prefix: Path = []): IterableIterator<Path> {
    const entries = this.entries();
    for (const [element, { member }] of entries) if (member) yield [...prefix, element];
    for (const [element, { children }] of entries)
      if (children !== undefined) yield* children.paths([...prefix, element]);
  }

  /** Returns one member per line, for tests and messages. */
  toString(): string {
    return [...this.paths()].map(describePath).join('\n');
  }

  #copy(): FieldSet {
    return new FieldSet(new Map(this.#nodes));
  }
}
