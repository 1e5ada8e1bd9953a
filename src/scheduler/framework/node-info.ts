// A node with the sums over its pods.

import type { Taint } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Node } from './objects.ts';
import { type HostPort, hostPortsConflict, type PodInfo } from './pod-info.ts';
import { PodList } from './pod-list.ts';
import { Resource } from './resource.ts';

/** An image on nodes. One object per image name, shared by all nodes that have it. */
export interface ImageState {
  /** Bytes. */
  sizeBytes: number;
  /**
   * The number of nodes with the image. It changes with the cluster at once, not with a snapshot.
   */
  nodes: number;
}

const NO_TAINTS: readonly Immutable<Taint>[] = [];
const NO_PORTS: readonly HostPort[] = [];
const NO_PODS: readonly PodInfo[] = [];
const NO_IMAGES: ReadonlyMap<string, ImageState> = new Map();

/**
 * A node with its pods. The cache changes its own NodeInfos, but never one that a snapshot refers
 * to: it changes a clone instead. So a NodeInfo of a snapshot does not change. Plugins that
 * evaluate hypothetical pods work on a clone.
 */
export class NodeInfo {
  readonly name: string;
  /**
   * Undefined while pods refer to a node that does not exist yet, or any more. Such a node is in no
   * snapshot.
   */
  node: Node | undefined = undefined;
  /** The pods on the node, assumed ones included, in no particular order. */
  pods = new PodList();
  /** The sum of the requests of `pods`. */
  requested: Resource = new Resource();
  /** The same for scoring, with defaults for containers without requests. */
  nonZeroMilliCpu = 0;
  nonZeroMemory = 0;
  allocatable: Resource = new Resource();
  /** The host ports of `pods`. Replaced, never changed in place. */
  usedPorts: readonly HostPort[] = NO_PORTS;
  /** By image name, as in node.status.images. Replaced, never changed in place. */
  images: ReadonlyMap<string, ImageState> = NO_IMAGES;
  /** Taints with effect NoSchedule or NoExecute. */
  hardTaints: readonly Immutable<Taint>[] = NO_TAINTS;
  /** Taints with effect PreferNoSchedule. */
  softTaints: readonly Immutable<Taint>[] = NO_TAINTS;
  /** Grows with every change of any node in the cache: a greater value is a later change. */
  generation = 0;
  // The last fields, since they are rarely read: filtering reads all nodes, and the fields above
  // fill the processor's cache.
  /**
   * The pods with affinity terms (possibly in an earlier version with the same terms), in the order
   * of their arrival. Replaced, never changed in place.
   */
  podsWithAffinity: readonly PodInfo[] = NO_PODS;
  /**
   * The pods whose volumes matter to other pods (possibly in a former version). Replaced, never
   * changed in place.
   */
  podsWithVolumes: readonly PodInfo[] = NO_PODS;

  constructor(name: string) {
    this.name = name;
  }

  setNode(node: Node, images: ReadonlyMap<string, ImageState> = NO_IMAGES): void {
    this.node = node;
    this.allocatable = Resource.of(node.status.allocatable);
    this.images = images;
    const taints = node.spec.taints ?? NO_TAINTS;
    this.hardTaints = taints.filter(
      (taint) => taint.effect === 'NoSchedule' || taint.effect === 'NoExecute',
    );
    this.softTaints = taints.filter((taint) => taint.effect === 'PreferNoSchedule');
  }

  removeNode(): void {
    this.node = undefined;
    this.allocatable = new Resource();
    this.images = NO_IMAGES;
    this.hardTaints = NO_TAINTS;
    this.softTaints = NO_TAINTS;
  }

  addPod(pod: PodInfo): void {
    this.pods.push(pod);
    this.requested.add(pod.requests);
    this.nonZeroMilliCpu += pod.nonZeroMilliCpu;
    this.nonZeroMemory += pod.nonZeroMemory;
    if (pod.hostPorts.length > 0) this.usedPorts = [...this.usedPorts, ...pod.hostPorts];
    if (pod.hasAffinity) this.podsWithAffinity = [...this.podsWithAffinity, pod];
    if (pod.hasVolumes) this.podsWithVolumes = [...this.podsWithVolumes, pod];
  }

  /** Removes the pod with this UID and returns it; undefined if it is not on the node. */
  removePod(uid: string): PodInfo | undefined {
    const pod = this.pods.remove(uid);
    if (pod === undefined) return undefined;
    this.requested.subtract(pod.requests);
    this.nonZeroMilliCpu -= pod.nonZeroMilliCpu;
    this.nonZeroMemory -= pod.nonZeroMemory;
    if (pod.hostPorts.length > 0)
      this.usedPorts = Array.from(this.pods, (other) => other.hostPorts).flat();
    if (pod.hasAffinity)
      this.podsWithAffinity = this.podsWithAffinity.filter((other) => other.uid !== uid);
    if (pod.hasVolumes)
      this.podsWithVolumes = this.podsWithVolumes.filter((other) => other.uid !== uid);
    return pod;
  }

  hasPortConflict(wanted: readonly HostPort[]): boolean {
    return hostPortsConflict(wanted, this.usedPorts);
  }

  clone(): NodeInfo {
    const copy = new NodeInfo(this.name);
    copy.node = this.node;
    copy.pods = this.pods.copy();
    copy.podsWithAffinity = this.podsWithAffinity;
    copy.podsWithVolumes = this.podsWithVolumes;
    copy.requested = this.requested.clone();
    copy.nonZeroMilliCpu = this.nonZeroMilliCpu;
    copy.nonZeroMemory = this.nonZeroMemory;
    copy.allocatable = this.allocatable;
    copy.usedPorts = this.usedPorts;
    copy.images = this.images;
    copy.hardTaints = this.hardTaints;
    copy.softTaints = this.softTaints;
    copy.generation = this.generation;
    return copy;
  }
}
