// The nominated pods of each node: preempted pods leave room there for them.

import type { PodNominator } from '../framework/handle.ts';
import type { PodInfo } from '../framework/pod-info.ts';

const NONE: readonly PodInfo[] = [];

export class Nominator implements PodNominator {
  /** UID → node. */
  readonly #nodeOf = new Map<string, string>();
  /** Node → UID → pod. It has no empty inner maps. */
  readonly #byNode = new Map<string, Map<string, PodInfo>>();
  readonly #changed: (node: string) => void;

  /**
   * Creates a nominator. `changed`: called with each node whose set of nominated pods has changed.
   */
  constructor(changed: (node: string) => void = () => undefined) {
    this.#changed = changed;
  }

  /** Nominates the pod, replacing an earlier nomination. '' removes it. */
  nominate(pod: PodInfo, node: string): void {
    this.remove(pod.uid);
    if (node === '') return;
    this.#nodeOf.set(pod.uid, node);
    const pods = this.#byNode.get(node);
    if (pods === undefined) this.#byNode.set(node, new Map([[pod.uid, pod]]));
    else pods.set(pod.uid, pod);
    this.#changed(node);
  }

  /**
   * Handles an update of the pod. The nomination in its status counts if this update changed it;
   * otherwise a nomination that the status does not show yet stays.
   */
  update(before: PodInfo, after: PodInfo): void {
    const [old, now] = [
      before.pod.status.nominatedNodeName ?? '',
      after.pod.status.nominatedNodeName ?? '',
    ];
    this.nominate(after, old === now ? (this.#nodeOf.get(before.uid) ?? now) : now);
  }

  remove(uid: string): void {
    const node = this.#nodeOf.get(uid);
    if (node === undefined) return;
    this.#nodeOf.delete(uid);
    const pods = this.#byNode.get(node);
    pods?.delete(uid);
    if (pods?.size === 0) this.#byNode.delete(node);
    this.#changed(node);
  }

  nominatedNode(uid: string): string | undefined {
    return this.#nodeOf.get(uid);
  }

  nominatedPodsForNode(node: string): readonly PodInfo[] {
    if (this.#byNode.size === 0) return NONE;
    const pods = this.#byNode.get(node);
    return pods === undefined ? NONE : [...pods.values()];
  }

  isEmpty(): boolean {
    return this.#byNode.size === 0;
  }
}
