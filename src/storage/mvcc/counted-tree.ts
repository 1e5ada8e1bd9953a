// An ordered map from string keys to items: a B+ tree in which each node has the number of counted
// items under it. So the number of counted keys in a range can be computed without visiting them.

import { type KeyLess, lessFor } from './key-order.ts';

export interface Keyed {
  readonly key: string;
}

interface Leaf<T> {
  readonly leaf: true;
  /** Items in ascending order of key. */
  items: T[];
  /** How many of the items are counted. */
  counted: number;
}

interface Branch<T> {
  readonly leaf: false;
  children: Node<T>[];
  /**
   * Keys under children[i] are >= bounds[i] and, unless it is the last child, < bounds[i + 1].
   * bounds[0] is not used.
   */
  bounds: string[];
  counted: number;
}

type Node<T> = Leaf<T> | Branch<T>;

/**
 * A full node is split in two halves. A node below a quarter is merged with its neighbour if both
 * fit with room to spare.
 */
const MAX_SIZE = 64;
const MIN_SIZE = MAX_SIZE / 4;
const MAX_MERGED_SIZE = (MAX_SIZE * 3) / 4;

/**
 * `get` is O(1). The other operations are O(log n) in the number of items, plus the visited items.
 * The tree must not be changed during a scan.
 */
export class CountedTree<T extends Keyed> {
  readonly #counts: (item: T) => boolean;
  #root: Node<T> = newLeaf([], 0);
  /** All items by key, because finding an item by its key is the most frequent operation. */
  readonly #byKey = new Map<string, T>();

  /**
   * Creates an empty tree. `counts` reports whether an item is counted now. After its result
   * changes for an item in the tree, the owner calls `recount`.
   */
  constructor(counts: (item: T) => boolean) {
    this.#counts = counts;
  }

  /** The number of items in the tree, counted or not. */
  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key);
  }

  /** Inserts the item. Its key must not be in the tree yet. */
  insert(item: T): void {
    const right = this.#insert(this.#root, item, lessFor(item.key), this.#counts(item) ? 1 : 0);
    if (right !== undefined)
      this.#root = newBranch(
        [this.#root, right.node],
        ['', right.bound],
        this.#root.counted + right.node.counted,
      );
    this.#byKey.set(item.key, item);
  }

  /** Deletes the key. Returns false if there is no such key. */
  delete(key: string): boolean {
    const item = this.get(key);
    if (item === undefined) return false;
    this.#delete(this.#root, key, lessFor(key), this.#counts(item) ? 1 : 0);
    while (!this.#root.leaf && this.#root.children.length <= 1)
      this.#root = this.#root.children[0] ?? newLeaf([], 0);
    this.#byKey.delete(key);
    return true;
  }

  /**
   * Records that the item with this key, which is in the tree, is now counted (1) or no longer
   * counted (-1).
   */
  recount(key: string, change: 1 | -1): void {
    const less = lessFor(key);
    let node = this.#root;
    for (;;) {
      node.counted += change;
      if (node.leaf) return;
      node = node.children[childIndex(node, key, less)]!;
    }
  }

  /** Returns the number of counted items with a key less than this one. */
  countBefore(key: string): number {
    const less = lessFor(key);
    let node = this.#root;
    let count = 0;
    while (!node.leaf) {
      const index = childIndex(node, key, less);
      for (let i = 0; i < index; i++) count += node.children[i]!.counted;
      node = node.children[index]!;
    }
    const end = lowerBound(node.items, key, less);
    for (let i = 0; i < end; i++) if (this.#counts(node.items[i]!)) count++;
    return count;
  }

  /** Visits the items with a key >= `from` and < `to`, in order, until `visit` returns false. */
  scan(from: string, to: string, visit: (item: T) => boolean): void {
    const less = lessFor(from);
    if (less(from, to))
      scanNode(this.#root, { key: from, less }, { key: to, less: lessFor(to) }, visit);
  }

  /** Visits the items with a key >= `from`, in order, until `visit` returns false. */
  scanFrom(from: string, visit: (item: T) => boolean): void {
    scanNode(this.#root, { key: from, less: lessFor(from) }, undefined, visit);
  }

  #insert(
    node: Node<T>,
    item: T,
    less: KeyLess,
    counted: number,
  ): { node: Node<T>; bound: string } | undefined {
    node.counted += counted;
    if (node.leaf) {
      node.items.splice(lowerBound(node.items, item.key, less), 0, item);
      return node.items.length > MAX_SIZE ? this.#splitLeaf(node) : undefined;
    }
    const index = childIndex(node, item.key, less);
    const right = this.#insert(node.children[index]!, item, less, counted);
    if (right === undefined) return undefined;
    node.children.splice(index + 1, 0, right.node);
    node.bounds.splice(index + 1, 0, right.bound);
    return node.children.length > MAX_SIZE ? splitBranch(node) : undefined;
  }

  #splitLeaf(leaf: Leaf<T>): { node: Node<T>; bound: string } {
    const items = leaf.items.splice(leaf.items.length >> 1);
    let counted = 0;
    for (const item of items) if (this.#counts(item)) counted++;
    leaf.counted -= counted;
    return { node: newLeaf(items, counted), bound: items[0]!.key };
  }

  #delete(node: Node<T>, key: string, less: KeyLess, counted: number): void {
    node.counted -= counted;
    if (node.leaf) {
      node.items.splice(lowerBound(node.items, key, less), 1);
      return;
    }
    const index = childIndex(node, key, less);
    const child = node.children[index]!;
    this.#delete(child, key, less, counted);
    if (sizeOf(child) >= MIN_SIZE) return;
    if (node.children.length === 1) {
      // An empty child without a neighbour cannot be merged. This node is empty then, too, and its
      // parent removes it.
      if (sizeOf(child) === 0) {
        node.children = [];
        node.bounds = [];
      }
      return;
    }
    mergeAt(node, index > 0 ? index - 1 : index);
  }
}

function newLeaf<T>(items: T[], counted: number): Leaf<T> {
  return { leaf: true, items, counted };
}

function newBranch<T>(children: Node<T>[], bounds: string[], counted: number): Branch<T> {
  return { leaf: false, children, bounds, counted };
}

function sizeOf<T>(node: Node<T>): number {
  return node.leaf ? node.items.length : node.children.length;
}

/** Returns the index of the first item whose key is not less than `key`. */
function lowerBound(items: readonly Keyed[], key: string, less: KeyLess): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (less(items[middle]!.key, key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the child that contains `key` if any does. */
function childIndex<T>(branch: Branch<T>, key: string, less: KeyLess): number {
  let low = 1;
  let high = branch.bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (less(key, branch.bounds[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

function splitBranch<T>(branch: Branch<T>): { node: Node<T>; bound: string } {
  const middle = branch.children.length >> 1;
  const children = branch.children.splice(middle);
  const bounds = branch.bounds.splice(middle);
  const counted = children.reduce((sum, child) => sum + child.counted, 0);
  branch.counted -= counted;
  return { node: newBranch(children, bounds, counted), bound: bounds[0]! };
}

/** Merges the children at `index` and `index + 1` if they are small enough together, or one is empty. */
function mergeAt<T>(parent: Branch<T>, index: number): void {
  const left = parent.children[index]!;
  const right = parent.children[index + 1]!;
  const [leftSize, rightSize] = [sizeOf(left), sizeOf(right)];
  if (leftSize > 0 && rightSize > 0 && leftSize + rightSize > MAX_MERGED_SIZE) return;
  const bound = parent.bounds[index + 1]!;
  if (left.leaf && right.leaf) left.items = left.items.concat(right.items);
  else if (!left.leaf && !right.leaf) {
    left.children = left.children.concat(right.children);
    if (rightSize > 0) left.bounds = left.bounds.concat(bound, right.bounds.slice(1));
  } else throw new Error('counted tree: leaves at different depths');
  left.counted += right.counted;
  parent.children.splice(index + 1, 1);
  parent.bounds.splice(index + 1, 1);
}

interface Bound {
  readonly key: string;
  readonly less: KeyLess;
}

/**
 * Visits the items of a node between two bounds. Returns false if `visit` ended the scan. A bound
 * is absent if the whole node is inside it.
 */
function scanNode<T extends Keyed>(
  node: Node<T>,
  from: Bound | undefined,
  to: Bound | undefined,
  visit: (item: T) => boolean,
): boolean {
  if (node.leaf) {
    const { items } = node;
    const end = to === undefined ? items.length : lowerBound(items, to.key, to.less);
    for (let i = from === undefined ? 0 : lowerBound(items, from.key, from.less); i < end; i++)
      if (!visit(items[i]!)) return false;
    return true;
  }
  const first = from === undefined ? 0 : childIndex(node, from.key, from.less);
  const last = to === undefined ? node.children.length - 1 : childIndex(node, to.key, to.less);
  for (let i = first; i <= last; i++) {
    const child = node.children[i]!;
    if (!scanNode(child, i === first ? from : undefined, i === last ? to : undefined, visit))
      return false;
  }
  return true;
}
