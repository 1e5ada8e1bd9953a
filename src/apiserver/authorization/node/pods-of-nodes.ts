// The pods of the nodes that ask. A node's pods are read when its first request depends on them, and
// kept up to date from then on, so that the start of a server does not read all pods.

import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import { decodeWithoutStatus } from '#api/machinery/codec/index.ts';
import { passingValueOf } from '#storage/value.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { type Follower, type Keeper, keyOf } from '#apiserver/catalog/follow.ts';
import { internalContext } from '#apiserver/catalog/internal-client.ts';
import type { Catalog } from '#apiserver/catalog/catalog.ts';
import { stateOf } from '#apiserver/registry/encoded-object.ts';
import { Selection } from '#apiserver/registry/selection.ts';
import type { ListAnswer } from '#apiserver/registry/rest.ts';
import type { EncodedObject } from '#apiserver/request.ts';
import * as fields from '#machinery/selectors/fields.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { NodeGraph } from './graph.ts';

/** The fields of a pod's status that have references. */
const STATUS_FIELDS = ['resourceClaimStatuses', 'extendedResourceClaimStatus'];

/** So many pods take some 15 ms: users may bind any number of pods to a node. */
const PODS_PER_TURN = 500;
const NODE_FIELD = 'spec.nodeName';

interface Change {
  readonly key: string;
  readonly revision: number;
  /** Absent: it was deleted. */
  readonly pod?: Immutable<Pod>;
}

interface KnownNode {
  /** The revision of the list of its pods. Earlier changes are in the list. */
  readonly revision: number;
  readonly pods: Set<string>;
}

/** A list of a node's pods that is being read. */
interface Reading {
  readonly done: Promise<void>;
  /** Changes of its pods since the list began. */
  readonly changes: Change[];
}

/** Puts the pods of nodes into a graph. */
export class PodsOfNodes implements Keeper {
  readonly #catalog: Catalog;
  readonly #graph: Pick<NodeGraph, 'setPod' | 'deletePod' | 'deletePods'>;
  /** Each has pods. */
  readonly #known = new Map<string, KnownNode>();
  readonly #reading = new Map<string, Reading>();

  constructor(catalog: Catalog, graph: Pick<NodeGraph, 'setPod' | 'deletePod' | 'deletePods'>) {
    this.#catalog = catalog;
    this.#graph = graph;
  }

  /** Resolves when changes are followed. Rejects if the store cannot be read. */
  async follow(follower: Follower): Promise<void> {
    await follower.follow(pods.group, pods.resource, this, {
      onlyChangesSince: () => this.#forgetAll(),
    });
  }

  /**
   * Returns undefined if the graph has the pods of the node; otherwise resolves when it has. Rejects
   * if the store cannot be read.
   */
  read(node: string): Promise<void> | undefined {
    if (this.#known.has(node)) return undefined;
    const reading = this.#reading.get(node);
    if (reading !== undefined) return reading.done;
    const changes: Change[] = [];
    const done = this.#read(node, changes);
    this.#reading.set(node, { done, changes });
    return done;
  }

  set(object: KubeObject): void {
    const pod = object as Immutable<Pod>;
    const node = pod.spec.nodeName ?? '';
    if (node === '') return;
    this.#take(node, { ...changeOf(pod), pod });
  }

  delete(_key: string, last?: EncodedObject): void {
    const pod = last?.object() as Immutable<Pod> | undefined;
    if (pod?.spec.nodeName !== undefined) this.#take(pod.spec.nodeName, changeOf(pod));
  }

  async #read(node: string, changes: Change[]): Promise<void> {
    const isCurrent = (): boolean => this.#reading.get(node)?.changes === changes;
    try {
      const { items, resourceVersion } = await this.#list(node);
      // A new watch has begun meanwhile, without the changes before it.
      if (!isCurrent()) return await this.read(node);
      const known: KnownNode = { revision: Number(resourceVersion), pods: new Set() };
      for (const [index, item] of items.entries()) {
        if (index % PODS_PER_TURN === PODS_PER_TURN - 1) {
          await nextTurn();
          if (!isCurrent()) return await this.read(node);
        }
        this.#put(
          known,
          decodeWithoutStatus<Immutable<Pod>>(passingValueOf(stateOf(item)), STATUS_FIELDS),
        );
      }
      this.#known.set(node, known);
      this.#reading.delete(node);
      for (const change of changes) this.#take(node, change);
      this.#keepIfUsed(node, known);
    } finally {
      if (isCurrent()) this.#reading.delete(node);
    }
  }

  async #list(node: string): Promise<ListAnswer> {
    const { rest } = this.#catalog.snapshot().stored(pods.group, pods.resource)!;
    return await rest.list!(internalContext(''), {
      selection: new Selection({ fields: fields.oneTermEqualSelector(NODE_FIELD, node) }),
      limit: 0,
      continue: '',
      resourceVersion: '',
      resourceVersionMatch: '',
    });
  }

  #take(node: string, change: Change): void {
    this.#reading.get(node)?.changes.push(change);
    const known = this.#known.get(node);
    if (known === undefined || change.revision <= known.revision) return;
    if (change.pod !== undefined) {
      this.#put(known, change.pod);
      return;
    }
    known.pods.delete(change.key);
    this.#graph.deletePod(change.key);
    this.#keepIfUsed(node, known);
  }

  #put(known: KnownNode, pod: Immutable<Pod>): void {
    known.pods.add(keyOf(pod));
    this.#graph.setPod(pod);
  }

  /** Forgets a node without pods: users choose the names of nodes, and may choose any number. */
  #keepIfUsed(node: string, known: KnownNode): void {
    if (known.pods.size === 0) this.#known.delete(node);
  }

  #forgetAll(): void {
    this.#graph.deletePods();
    this.#known.clear();
    this.#reading.clear();
  }
}

function changeOf(pod: Immutable<Pod>): Change {
  return { key: keyOf(pod), revision: Number(pod.metadata.resourceVersion) };
}
