// The scheduler cache: every node with its pods, including pods that the scheduler has decided to
// put there (assumed pods). So the next pod can be scheduled before the API server has processed
// the previous binding.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { countsTheSame, offersTheSame } from '../framework/changes.ts';
import { type ImageState, NodeInfo } from '../framework/node-info.ts';
import type { Node } from '../framework/objects.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { NodeTree } from './node-tree.ts';
import type { Snapshot } from './snapshot.ts';

export interface SchedulerCacheConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * How long a pod stays assumed after its binding was acknowledged, in milliseconds, if its
   * informer does not show it as bound. Default: 0, which means forever: an acknowledged binding
   * has happened, so forgetting the pod could overcommit its node.
   */
  readonly assumedPodTtlMs?: number;
}

/**
 * The state of a pod in the cache: assumed (decided, the binding not acknowledged yet) → bound
 * (acknowledged; may expire) → added (observed with its node). An assumed pod is forgotten if its
 * binding fails.
 */
interface PodState {
  info: PodInfo;
  node: string;
  assumed: boolean;
  /**
   * The time on the monotonic clock at which the assumed pod expires. Set once the binding was
   * acknowledged, if assumed pods expire.
   */
  expiresAt: number | undefined;
}

/** A node's entry in the list of nodes by generation, the latest change first. */
interface Entry {
  info: NodeInfo;
  /** A snapshot refers to `info`, so it must be cloned before a change. */
  published: boolean;
  newer: Entry | undefined;
  older: Entry | undefined;
}

export class SchedulerCache {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #assumedPodTtlMs: number;
  readonly #entries = new Map<string, Entry>();
  /**
   * The entry that changed last. From there, `older` leads to all others in the order of their
   * generations.
   */
  #newest: Entry | undefined;
  #generation = 0;
  readonly #tree = new NodeTree();
  /** By UID. Each pod is in exactly one NodeInfo, that of its `node`. */
  readonly #pods = new Map<string, PodState>();
  /** UIDs of the assumed pods. */
  readonly #assumed = new Set<string>();
  /** By image name. */
  readonly #images = new Map<string, ImageState>();

  constructor(config: SchedulerCacheConfig) {
    this.#clock = config.clock;
    this.#logger = config.logger;
    this.#assumedPodTtlMs = config.assumedPodTtlMs ?? 0;
  }

  get nodeCount(): number {
    return this.#tree.size;
  }

  get podCount(): number {
    return this.#pods.size;
  }

  get assumedPodCount(): number {
    return this.#assumed.size;
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  /** Returns the pod and its node, assumed or observed. */
  getPod(uid: string): { readonly info: PodInfo; readonly node: string } | undefined {
    return this.#pods.get(uid);
  }

  /**
   * Adds the pod to the node. Throws if it is on a node already: a pod is decided on once at a
   * time.
   */
  assumePod(info: PodInfo, node: string): void {
    const present = this.#pods.get(info.uid);
    if (present !== undefined)
      throw new Error(
        `pod ${info.key} (${info.uid}) is in the cache already, on node ${present.node}`,
      );
    this.#place({ info, node, assumed: true, expiresAt: undefined });
  }

  /** Records that the API server has acknowledged the binding. */
  finishBinding(uid: string): void {
    const state = this.#pods.get(uid);
    if (state === undefined || !state.assumed || this.#assumedPodTtlMs <= 0) return;
    state.expiresAt = this.#clock.monotonic() + this.#assumedPodTtlMs;
  }

  /** Removes an assumed pod from its node. Returns false if it is not assumed. */
  forgetPod(uid: string): boolean {
    const state = this.#pods.get(uid);
    if (state === undefined || !state.assumed) return false;
    this.#take(state);
    return true;
  }

  /** Removes the assumed pods that have expired. */
  expireAssumedPods(): void {
    const now = this.#clock.monotonic();
    for (const uid of this.#assumed) {
      const state = this.#pods.get(uid)!;
      if (state.expiresAt === undefined || now < state.expiresAt) continue;
      this.#logger.warn('an assumed pod was bound but never seen on its node', {
        pod: state.info.key,
        node: state.node,
      });
      this.#take(state);
    }
  }

  /** Records a pod with a node from the API server: a new, confirmed, or changed one. */
  putPod(info: PodInfo): void {
    const node = info.pod.spec.nodeName ?? '';
    if (node === '') throw new Error(`pod ${info.key} has no node`);
    const present = this.#pods.get(info.uid);
    if (present !== undefined && present.node !== node) {
      // Another component bound the pod. The API server is authoritative.
      this.#logger.warn('scheduler: a pod is on another node than assumed', {
        pod: present.info.key,
        assumed: present.node,
        node,
      });
    }
    if (present?.node === node && countsTheSame(present.info, info)) {
      // Most updates are confirmations and statuses, so results about the node stay valid.
      this.#entries.get(node)!.info.pods.replace(present.info, info);
      this.#pods.set(info.uid, { info, node, assumed: false, expiresAt: undefined });
      this.#assumed.delete(info.uid);
      return;
    }
    if (present !== undefined) this.#take(present);
    this.#place({ info, node, assumed: false, expiresAt: undefined });
  }

  /** Removes a deleted pod. Does nothing if the pod is unknown. */
  removePod(uid: string): void {
    const state = this.#pods.get(uid);
    if (state !== undefined) this.#take(state);
  }

  putNode(node: Node): void {
    const name = node.metadata.name;
    const entry = this.#entryFor(name);
    const before = entry.info.node;
    // Most updates are heartbeats, which change nothing that is counted.
    if (before !== undefined && offersTheSame(before, node)) {
      this.#changing(entry).node = node;
      return;
    }
    this.#dropImages(before);
    this.#changing(entry).setNode(node, this.#takeImages(node));
    this.#tree.put(node);
  }

  removeNode(name: string): void {
    const entry = this.#entries.get(name);
    if (entry?.info.node === undefined) return;
    this.#dropImages(entry.info.node);
    const info = this.#changing(entry);
    info.removeNode();
    this.#tree.remove(name);
    // The node's pods are not deleted yet; the entry is removed with the last of them.
    if (info.pods.length === 0) this.#drop(entry);
  }

  /**
   * Updates the snapshot to the state of the cache. If no node was added or removed, the cost is
   * proportional to the changes since the snapshot's last update.
   */
  updateSnapshot(snapshot: Snapshot): void {
    if (snapshot.treeVersion !== this.#tree.version) {
      this.#rebuild(snapshot);
      return;
    }
    for (
      let entry = this.#newest;
      entry !== undefined && entry.info.generation > snapshot.generation;
      entry = entry.older
    ) {
      const position = snapshot.positions.get(entry.info.name);
      if (position === undefined) continue;
      snapshot.nodes[position] = entry.info;
      snapshot.renew(position);
      snapshot.changes.add(position, snapshot.nodes.length);
      entry.published = true;
    }
    snapshot.generation = this.#generation;
  }

  #rebuild(snapshot: Snapshot): void {
    snapshot.positions.clear();
    snapshot.nodes = this.#tree.list().map((name, position) => {
      const entry = this.#entries.get(name)!;
      snapshot.positions.set(name, position);
      entry.published = true;
      return entry.info;
    });
    snapshot.versions = new Float64Array(snapshot.nodes.length);
    snapshot.generation = this.#generation;
    snapshot.treeVersion = this.#tree.version;
    snapshot.changes.restructure();
  }

  #place(state: PodState): void {
    this.#changing(this.#entryFor(state.node)).addPod(state.info);
    this.#pods.set(state.info.uid, state);
    if (state.assumed) this.#assumed.add(state.info.uid);
  }

  #take(state: PodState): void {
    const { uid } = state.info;
    const entry = this.#entries.get(state.node)!;
    const info = this.#changing(entry);
    info.removePod(uid);
    this.#pods.delete(uid);
    this.#assumed.delete(uid);
    if (info.node === undefined && info.pods.length === 0) this.#drop(entry);
  }

  #entryFor(name: string): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { info: new NodeInfo(name), published: false, newer: undefined, older: undefined };
      this.#entries.set(name, entry);
    }
    return entry;
  }

  /**
   * Returns the entry's NodeInfo for a change: not shared with a snapshot, and with a new
   * generation.
   */
  #changing(entry: Entry): NodeInfo {
    if (entry.published) {
      entry.info = entry.info.clone();
      entry.published = false;
    }
    entry.info.generation = ++this.#generation;
    if (this.#newest !== entry) {
      this.#unlink(entry);
      entry.older = this.#newest;
      if (this.#newest !== undefined) this.#newest.newer = entry;
      this.#newest = entry;
    }
    return entry.info;
  }

  #drop(entry: Entry): void {
    this.#unlink(entry);
    this.#entries.delete(entry.info.name);
  }

  #unlink(entry: Entry): void {
    if (entry.newer !== undefined) entry.newer.older = entry.older;
    if (entry.older !== undefined) entry.older.newer = entry.newer;
    if (this.#newest === entry) this.#newest = entry.older;
    entry.newer = undefined;
    entry.older = undefined;
  }

  #takeImages(node: Node): ReadonlyMap<string, ImageState> {
    const images = new Map<string, ImageState>();
    for (const image of node.status.images ?? []) {
      for (const name of image.names ?? []) {
        if (images.has(name)) continue;
        let state = this.#images.get(name);
        if (state === undefined) {
          state = { sizeBytes: 0, nodes: 0 };
          this.#images.set(name, state);
        }
        state.sizeBytes = image.sizeBytes ?? 0;
        state.nodes++;
        images.set(name, state);
      }
    }
    return images;
  }

  #dropImages(node: Node | undefined): void {
    const names = new Set((node?.status.images ?? []).flatMap((image) => image.names ?? []));
    for (const name of names) {
      const state = this.#images.get(name);
      if (state !== undefined && --state.nodes === 0) this.#images.delete(name);
    }
  }
}
