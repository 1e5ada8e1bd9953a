// An immutable map from strings to values. `set` and `delete` return another map, which shares
// everything with this one except the path to the changed entry: a change in a map of 10,000
// entries copies three or four small arrays. A reader can therefore keep a map as long as it needs,
// whatever changes are derived from it.
//
// A hash trie (P. Bagwell, "Ideal Hash Trees", 2001). Each level uses five bits of the key's
// hash. A branch has a bit map of its existing children and a dense array of them. Keys with equal
// 32-bit hashes share a bucket at the lowest level. A branch below the root always has two entries
// or more, so maps with the same entries have the same shape.

interface Leaf<V> {
  readonly type: 'leaf';
  readonly hash: number;
  readonly key: string;
  readonly value: V;
}

/** Two or more leaves with the same hash. */
interface Bucket<V> {
  readonly type: 'bucket';
  readonly hash: number;
  readonly leaves: readonly Leaf<V>[];
}

interface Branch<V> {
  readonly type: 'branch';
  /** Bit i is set if there is a child for the five bits i. */
  readonly bitmap: number;
  readonly children: readonly Node<V>[];
}

type Node<V> = Leaf<V> | Bucket<V> | Branch<V>;

export type Hash = (key: string) => number;

const BITS = 5;
const MASK = (1 << BITS) - 1;

export class PersistentMap<V> {
  readonly size: number;
  readonly #root: Node<V> | undefined;
  readonly #hash: Hash;

  private constructor(root: Node<V> | undefined, size: number, hash: Hash) {
    this.#root = root;
    this.size = size;
    this.#hash = hash;
  }

  /** Returns an empty map. `hash`: returns 32 bits for a key; only tests replace it. */
  static empty<V>(hash: Hash = hashOf): PersistentMap<V> {
    return new PersistentMap<V>(undefined, 0, hash);
  }

  get(key: string): V | undefined {
    if (this.#root === undefined) return undefined;
    return find(this.#root, this.#hash(key), key)?.value;
  }

  has(key: string): boolean {
    return this.#root !== undefined && find(this.#root, this.#hash(key), key) !== undefined;
  }

  /** Returns a map with the entry; this map if the key has that value already. */
  set(key: string, value: V): PersistentMap<V> {
    const leaf: Leaf<V> = { type: 'leaf', hash: this.#hash(key), key, value };
    if (this.#root === undefined) return new PersistentMap<V>(leaf, 1, this.#hash);
    const present = find(this.#root, leaf.hash, key);
    if (present !== undefined && Object.is(present.value, value)) return this;
    const size = present === undefined ? this.size + 1 : this.size;
    return new PersistentMap(insert(this.#root, leaf, 0), size, this.#hash);
  }

  /** Returns a map without the entry; this map if the key is absent. */
  delete(key: string): PersistentMap<V> {
    const hash = this.#hash(key);
    if (this.#root === undefined || find(this.#root, hash, key) === undefined) return this;
    return new PersistentMap(remove(this.#root, hash, key, 0), this.size - 1, this.#hash);
  }

  /**
   * Iterates over the entries in an order that depends on the keys alone, not on the order of the
   * changes. The order has no meaning for users.
   */
  *[Symbol.iterator](): Generator<readonly [string, V]> {
    if (this.#root !== undefined) yield* entriesOf(this.#root);
  }

  *values(): Generator<V> {
    for (const [, value] of this) yield value;
  }
}

/**
 * Returns FNV-1a of the UTF-16 code units, with its bits mixed: the trie uses the lower bits first.
 */
export function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}

function find<V>(root: Node<V>, hash: number, key: string): Leaf<V> | undefined {
  let node: Node<V> = root;
  for (let shift = 0; node.type === 'branch'; shift += BITS) {
    const bit = 1 << ((hash >>> shift) & MASK);
    if ((node.bitmap & bit) === 0) return undefined;
    node = node.children[indexOf(node.bitmap, bit)]!;
  }
  if (node.type === 'leaf') return node.key === key ? node : undefined;
  return node.hash === hash ? node.leaves.find((leaf) => leaf.key === key) : undefined;
}

function insert<V>(node: Node<V>, leaf: Leaf<V>, shift: number): Node<V> {
  if (node.type !== 'branch') {
    if (node.hash !== leaf.hash) return insert(branchOf(node, shift), leaf, shift);
    const others = (node.type === 'leaf' ? [node] : node.leaves).filter(
      ({ key }) => key !== leaf.key,
    );
    return others.length === 0
      ? leaf
      : { type: 'bucket', hash: leaf.hash, leaves: sorted([...others, leaf]) };
  }
  const bit = 1 << ((leaf.hash >>> shift) & MASK);
  const index = indexOf(node.bitmap, bit);
  if ((node.bitmap & bit) === 0) {
    return {
      type: 'branch',
      bitmap: node.bitmap | bit,
      children: node.children.toSpliced(index, 0, leaf),
    };
  }
  const child = insert(node.children[index]!, leaf, shift + BITS);
  return { type: 'branch', bitmap: node.bitmap, children: node.children.with(index, child) };
}

/** Returns the node without the key, which must be present; undefined if the node is empty then. */
function remove<V>(node: Node<V>, hash: number, key: string, shift: number): Node<V> | undefined {
  if (node.type === 'leaf') return undefined;
  if (node.type === 'bucket') {
    const leaves = node.leaves.filter((leaf) => leaf.key !== key);
    return leaves.length === 1 ? leaves[0] : { ...node, leaves };
  }
  const bit = 1 << ((hash >>> shift) & MASK);
  const index = indexOf(node.bitmap, bit);
  const child = remove(node.children[index]!, hash, key, shift + BITS);
  const children =
    child === undefined ? node.children.toSpliced(index, 1) : node.children.with(index, child);
  const [first] = children;
  // A single leaf or bucket needs no branch above it.
  if (first === undefined || (children.length === 1 && first.type !== 'branch')) return first;
  return {
    type: 'branch',
    bitmap: child === undefined ? node.bitmap & ~bit : node.bitmap,
    children,
  };
}

/** Returns a branch at this depth with `child` as its only child. The caller adds another child. */
function branchOf<V>(child: Leaf<V> | Bucket<V>, shift: number): Branch<V> {
  return { type: 'branch', bitmap: 1 << ((child.hash >>> shift) & MASK), children: [child] };
}

function sorted<V>(leaves: readonly Leaf<V>[]): readonly Leaf<V>[] {
  return leaves.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** Returns the number of children before the child of this bit. */
function indexOf(bitmap: number, bit: number): number {
  return countBits(bitmap & (bit - 1));
}

/** Returns the number of set bits (H. S. Warren, Hacker's Delight, 5-1). */
function countBits(word: number): number {
  let count = word - ((word >>> 1) & 0x55555555);
  count = (count & 0x33333333) + ((count >>> 2) & 0x33333333);
  return Math.imul((count + (count >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function* entriesOf<V>(node: Node<V>): Generator<readonly [string, V]> {
  switch (node.type) {
    case 'leaf':
      yield [node.key, node.value];
      break;
    case 'bucket':
      for (const { key, value } of node.leaves) yield [key, value];
      break;
    case 'branch':
      for (const child of node.children) yield* entriesOf(child);
  }
}
