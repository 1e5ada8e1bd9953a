// An ordered map from string keys to items: a B+ tree whose nodes store the number of counted items
// below them, so that the keys of a range are counted without visiting them.
//
// A fork shares all nodes with the original. Each tree changes only nodes that it owns, and copies
// others first.

import { ForkableMap } from '#machinery/collections/forkable-map.ts';
import { type KeyLess, lessFor } from './key-order.ts';

export interface Keyed {
  readonly key: string;
}

/** The identity of a tree between two forks. */
type Owner = object;

interface Leaf<T> {
  readonly leaf: true;
  /** The tree that may change this node. */
  readonly owner: Owner;
  /** In ascending order of key. */
  items: T[];
  /** The number of counted items. */
  counted: number;
}

interface Branch<T> {
  readonly leaf: false;
  readonly owner: Owner;
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
  #owner: Owner = {};
  #root: Node<T> = newLeaf(this.#owner, [], 0);
  /** All items by key, since most operations look up a key. */
  #byKey = new ForkableMap<T>();

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

  /**
   * Returns a tree with the same items. O(1). Items must not be changed any more while both trees
   * have them: see `replace`.
   */
  fork(): CountedTree<T> {
    const fork = new CountedTree<T>(this.#counts);
    fork.#root = this.#root;
    fork.#byKey = this.#byKey.fork();
    // Neither tree owns the shared nodes now.
    this.#owner = {};
    return fork;
  }

  /** Replaces the item with the same key. Both must be counted, or neither. */
  replace(item: T): void {
    const { key } = item;
    const less = lessFor(key);
    let node = (this.#root = this.#owned(this.#root));
    while (!node.leaf) node = this.#ownedChild(node, childIndex(node, key, less));
    node.items[lowerBound(node.items, key, less)] = item;
    this.#byKey.set(key, item);
  }

  /** The item's key must not be in the tree yet. */
  insert(item: T): void {
    this.#root = this.#owned(this.#root);
    const right = this.#insert(this.#root, item, lessFor(item.key), this.#counts(item) ? 1 : 0);
    if (right !== undefined)
      this.#root = newBranch(
        this.#owner,
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
    this.#root = this.#owned(this.#root);
    this.#delete(this.#root, key, lessFor(key), this.#counts(item) ? 1 : 0);
    while (!this.#root.leaf && this.#root.children.length <= 1)
      this.#root = this.#root.children[0] ?? newLeaf(this.#owner, [], 0);
    this.#byKey.delete(key);
    return true;
  }

  /**
   * Records that the item with this key, which is in the tree, is now counted (1) or no longer
   * counted (-1).
   */
  recount(key: string, change: 1 | -1): void {
    const less = lessFor(key);
    let node = (this.#root = this.#owned(this.#root));
    for (;;) {
      node.counted += change;
      if (node.leaf) return;
      node = this.#ownedChild(node, childIndex(node, key, less));
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
    const right = this.#insert(this.#ownedChild(node, index), item, less, counted);
    if (right === undefined) return undefined;
    node.children.splice(index + 1, 0, right.node);
    node.bounds.splice(index + 1, 0, right.bound);
    return node.children.length > MAX_SIZE ? splitBranch(node) : undefined;
  }

  /** Returns the node if it may be changed, or else a copy. */
  #owned(node: Node<T>): Node<T> {
    if (node.owner === this.#owner) return node;
    return node.leaf
      ? newLeaf(this.#owner, node.items.slice(), node.counted)
      : newBranch(this.#owner, node.children.slice(), node.bounds.slice(), node.counted);
  }

  /** Returns a child, or a copy of it in the node, which may be changed. The node may be changed. */
  #ownedChild(parent: Branch<T>, index: number): Node<T> {
    const child = parent.children[index] as Node<T>;
    if (child.owner === this.#owner) return child;
    return (parent.children[index] = this.#owned(child));
  }

  #splitLeaf(leaf: Leaf<T>): { node: Node<T>; bound: string } {
    const items = leaf.items.splice(leaf.items.length >> 1);
    let counted = 0;
    for (const item of items) if (this.#counts(item)) counted++;
    leaf.counted -= counted;
    return { node: newLeaf(leaf.owner, items, counted), bound: (items[0] as T).key };
  }

  #delete(node: Node<T>, key: string, less: KeyLess, counted: number): void {
    node.counted -= counted;
    if (node.leaf) {
      node.items.splice(lowerBound(node.items, key, less), 1);
      return;
    }
    const index = childIndex(node, key, less);
    const child = this.#ownedChild(node, index);
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
    this.#mergeAt(node, index > 0 ? index - 1 : index);
  }

  /**
   * Merges the children at `index` and `index + 1` if they are small enough together, or one is
   * empty.
   */
  #mergeAt(parent: Branch<T>, index: number): void {
    const right = parent.children[index + 1] as Node<T>;
    const [leftSize, rightSize] = [sizeOf(parent.children[index] as Node<T>), sizeOf(right)];
    if (leftSize > 0 && rightSize > 0 && leftSize + rightSize > MAX_MERGED_SIZE) return;
    const left = this.#ownedChild(parent, index);
    const bound = parent.bounds[index + 1] as string;
    if (left.leaf && right.leaf) left.items = left.items.concat(right.items);
    else if (!left.leaf && !right.leaf) {
      left.children = left.children.concat(right.children);
      if (rightSize > 0) left.bounds = left.bounds.concat(bound, right.bounds.slice(1));
    } else throw new Error('counted tree: leaves at different depths');
    left.counted += right.counted;
    parent.children.splice(index + 1, 1);
    parent.bounds.splice(index + 1, 1);
  }
}

function newLeaf<T>(owner: Owner, items: T[], counted: number): Leaf<T> {
  return { leaf: true, owner, items, counted };
}

function newBranch<T>(
  owner: Owner,
  children: Node<T>[],
  bounds: string[],
  counted: number,
): Branch<T> {
  return { leaf: false, owner, children, bounds, counted };
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
  return { node: newBranch(branch.owner, children, bounds, counted), bound: bounds[0] as string };
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
