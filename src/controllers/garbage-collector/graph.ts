// The graph of owners and dependents in all resources, as far as observed. It only records, and
// reports which nodes to reconcile; the garbage collector decides from live objects and writes.
//
// A node is an object, identified by its UID. An owner that only a reference names is a virtual
// node: the object may still be observed or may never have existed, so it must be examined. Events
// of different resources arrive in any order.

import type { Immutable, KubeObject, OwnerReference } from '#api/machinery/meta/v1/index.ts';

export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

type OwnerRef = Immutable<OwnerReference>;

/** The identity of an object as an owner reference has it, and its namespace. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /**
   * '' for cluster-scoped objects. For a virtual node: the namespace of the dependent with the
   * reference.
   */
  readonly namespace: string;
}

export interface Node extends Identity {
  readonly owners: readonly OwnerRef[];
  /** Nodes with a reference to this one. */
  readonly dependents: ReadonlySet<Node>;
  /** The object was never observed: only a reference names it. */
  readonly virtual: boolean;
  readonly beingDeleted: boolean;
  /** The object is being deleted in the foreground: it waits for its dependents. */
  readonly deletingDependents: boolean;
}

/**
 * Called when nodes have to be reconciled. Calls are synchronous, and may repeat for the same node.
 */
export interface GraphListener {
  /** Called when a change may affect the object's deletion. */
  attemptToDelete(node: Node): void;
  /** Called when the object's dependents are to be orphaned. */
  attemptToOrphan(node: Node): void;
  /** Called when the dependent's reference names an object of another namespace. */
  invalidNamespace(dependent: Node, reference: OwnerRef, ownerNamespace: string): void;
  /** Called when the object does not exist, or no longer does. */
  absent(identity: Identity): void;
}

interface MutableNode extends Node {
  kind: string;
  apiVersion: string;
  name: string;
  namespace: string;
  owners: readonly OwnerRef[];
  /** The set of #dependents; NONE if there are none, since nearly all objects are leaves. */
  dependents: ReadonlySet<MutableNode>;
  virtual: boolean;
  beingDeleted: boolean;
  deletingDependents: boolean;
  /** The node waits for its dependents to be orphaned. */
  orphaning: boolean;
}

const NONE: ReadonlySet<MutableNode> = new Set();
const UNOWNED: readonly OwnerRef[] = [];
const NO_FINALIZERS: readonly string[] = [];

export class Graph {
  readonly #listener: GraphListener;
  readonly #nodes = new Map<string, MutableNode>();
  /**
   * The owner's UID → nodes with a reference to it, even if the owner has no node. It has no empty
   * sets.
   */
  readonly #dependents = new Map<string, Set<MutableNode>>();

  constructor(listener: GraphListener) {
    this.#listener = listener;
  }

  get(uid: string): Node | undefined {
    return this.#nodes.get(uid);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Records an object. `type`: objects in a list do not carry their type. */
  put(object: KubeObject, type: { readonly apiVersion: string; readonly kind: string }): void {
    const { apiVersion, kind } = type;
    const { uid, name, namespace = '', ownerReferences: owners = UNOWNED } = object.metadata;
    const known = this.#nodes.get(uid);
    if (known === undefined) {
      const node = this.#makeNode(apiVersion, kind, name, uid, namespace, owners, false);
      this.#nodes.set(uid, node);
      // Dependents may have been observed before the owner, and given up.
      this.#checkDependents(node);
      this.#addToOwners(node, owners);
      this.#noteDeletion(node, object);
      return;
    }
    if (known.virtual) {
      // A node that was created for a reference is an observed object now.
      Object.assign(known, { apiVersion, kind, name, namespace, virtual: false });
      this.#checkDependents(known);
    }
    this.#changeOwners(known, owners);
    this.#noteDeletion(known, object);
  }

  /**
   * Replaces all objects of the type with these. Objects that other calls recorded for the type are
   * deleted.
   */
  replace(
    objects: readonly KubeObject[],
    type: { readonly apiVersion: string; readonly kind: string },
  ): void {
    for (const object of objects) this.put(object, type);
    const present = new Set(objects.map(({ metadata }) => metadata.uid));
    const gone: string[] = [];
    for (const [uid, { kind, apiVersion, virtual }] of this.#nodes) {
      if (virtual || kind !== type.kind || apiVersion !== type.apiVersion) continue;
      if (!present.has(uid)) gone.push(uid);
    }
    for (const uid of gone) this.delete(uid);
  }

  /** Records that the object is gone, or never existed. */
  delete(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    for (const { uid: ownerUid } of node.owners) this.#removeFromOwner(node, ownerUid);
    this.#listener.absent(node);
    for (const dependent of node.dependents) this.#listener.attemptToDelete(dependent);
    // An owner that waits for its dependents has one fewer to wait for.
    for (const { uid: ownerUid } of node.owners) this.#wakeIfWaiting(ownerUid);
  }

  /** Checks the references of dependents that were observed before the owner. */
  #checkDependents(node: MutableNode): void {
    if (node.dependents.size === 0) return;
    for (const dependent of node.dependents) {
      const reference = dependent.owners.find(({ uid }) => uid === node.uid);
      if (reference !== undefined) this.#checkReference(dependent, reference, node);
    }
  }

  #changeOwners(node: MutableNode, owners: readonly OwnerRef[]): void {
    if (node.owners.length === 0 && owners.length === 0) return;
    const before = new Map(node.owners.map((reference) => [reference.uid, reference]));
    const after = new Map(owners.map((reference) => [reference.uid, reference]));
    const removed = node.owners.filter(({ uid }) => !after.has(uid));
    const unblocked = owners.filter(
      ({ uid, blockOwnerDeletion }) => before.get(uid)?.blockOwnerDeletion && !blockOwnerDeletion,
    );
    node.owners = owners;
    this.#addToOwners(
      node,
      owners.filter(({ uid }) => !before.has(uid)),
    );
    for (const { uid } of removed) this.#removeFromOwner(node, uid);
    for (const { uid } of [...removed, ...unblocked]) this.#wakeIfWaiting(uid);
  }

  #addToOwners(node: MutableNode, references: readonly OwnerRef[]): void {
    for (const reference of references) {
      const { apiVersion, kind, name, uid } = reference;
      const owner = this.#nodes.get(uid);
      this.#addDependent(uid, owner, node);
      if (owner !== undefined) {
        if (!owner.virtual) this.#checkReference(node, reference, owner);
        continue;
      }
      const virtual = this.#makeNode(apiVersion, kind, name, uid, node.namespace, UNOWNED, true);
      this.#nodes.set(uid, virtual);
      this.#listener.attemptToDelete(virtual);
    }
  }

  #removeFromOwner(node: MutableNode, ownerUid: string): void {
    const dependents = this.#dependents.get(ownerUid);
    if (dependents === undefined) return;
    dependents.delete(node);
    if (dependents.size > 0) return;
    this.#dependents.delete(ownerUid);
    const owner = this.#nodes.get(ownerUid);
    if (owner === undefined) return;
    owner.dependents = NONE;
    // The last reference to a virtual node is gone.
    if (owner.virtual) this.#nodes.delete(ownerUid);
  }

  /**
   * Wakes a dependent whose reference does not match its owner's identity: the dependent must be
   * examined live.
   */
  #checkReference(dependent: MutableNode, reference: OwnerRef, owner: MutableNode): void {
    const { apiVersion, kind, name, namespace } = owner;
    if (namespace !== '' && namespace !== dependent.namespace) {
      this.#listener.invalidNamespace(dependent, reference, namespace);
      this.#listener.attemptToDelete(dependent);
    } else if (
      kind !== reference.kind ||
      name !== reference.name ||
      groupOf(apiVersion) !== groupOf(reference.apiVersion)
    ) {
      this.#listener.attemptToDelete(dependent);
    }
  }

  #noteDeletion(node: MutableNode, { metadata }: KubeObject): void {
    const { finalizers = NO_FINALIZERS } = metadata;
    node.beingDeleted = metadata.deletionTimestamp !== undefined;
    const orphaning = node.beingDeleted && finalizers.includes(ORPHAN_FINALIZER);
    if (orphaning && !node.orphaning) this.#listener.attemptToOrphan(node);
    node.orphaning = orphaning;
    const foreground = node.beingDeleted && finalizers.includes(FOREGROUND_FINALIZER);
    if (foreground && !node.deletingDependents) {
      // Set before waking: the reconcile must see it.
      node.deletingDependents = true;
      for (const dependent of node.dependents) this.#listener.attemptToDelete(dependent);
      this.#listener.attemptToDelete(node);
    }
  }

  #addDependent(uid: string, owner: MutableNode | undefined, node: MutableNode): void {
    const dependents = this.#dependents.get(uid);
    if (dependents !== undefined) {
      dependents.add(node);
      return;
    }
    const first = new Set([node]);
    this.#dependents.set(uid, first);
    if (owner !== undefined) owner.dependents = first;
  }

  #makeNode(
    apiVersion: string,
    kind: string,
    name: string,
    uid: string,
    namespace: string,
    owners: readonly OwnerRef[],
    virtual: boolean,
  ): MutableNode {
    const dependents = this.#dependents.get(uid) ?? NONE;
    return {
      apiVersion,
      kind,
      name,
      uid,
      namespace,
      owners,
      dependents,
      virtual,
      beingDeleted: false,
      deletingDependents: false,
      orphaning: false,
    };
  }

  #wakeIfWaiting(uid: string): void {
    const owner = this.#nodes.get(uid);
    if (owner?.deletingDependents) this.#listener.attemptToDelete(owner);
  }
}

/** Returns the dependents that block an owner in foreground deletion. */
export function blockingDependents(owner: Node): readonly Node[] {
  return [...owner.dependents].filter((dependent) =>
    dependent.owners.some(
      ({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === true,
    ),
  );
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
