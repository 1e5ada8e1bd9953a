// Which CPUs containers have: exclusive ones, or the shared rest.

import { type CpuSet, difference, NO_CPUS, union } from '../cpu-set.ts';

export class CpuAssignments {
  /** The CPUs of containers without exclusive ones. */
  shared: CpuSet = NO_CPUS;
  /** By pod UID and container name. */
  readonly #exclusive = new Map<string, Map<string, CpuSet>>();

  exclusive(uid: string, container: string): CpuSet | undefined {
    return this.#exclusive.get(uid)?.get(container);
  }

  /** Returns the CPUs on which the container runs; empty while nothing is assigned. */
  cpusOf(uid: string, container: string): CpuSet {
    return this.exclusive(uid, container) ?? this.shared;
  }

  hasExclusive(uid: string): boolean {
    return this.#exclusive.has(uid);
  }

  /** Records exclusive CPUs. The caller takes them out of the shared ones. */
  assign(uid: string, container: string, cpus: CpuSet): void {
    const pod = this.#exclusive.get(uid) ?? new Map<string, CpuSet>();
    this.#exclusive.set(uid, pod);
    pod.set(container, cpus);
  }

  /** Returns the container's exclusive CPUs to the shared ones, unless another of its pod has them. */
  release(uid: string, container: string): void {
    const pod = this.#exclusive.get(uid);
    const released = pod?.get(container);
    if (pod === undefined || released === undefined) return;
    pod.delete(container);
    if (pod.size === 0) this.#exclusive.delete(uid);
    this.shared = union(this.shared, difference(released, union(...pod.values())));
  }

  /** Returns all CPUs that a container has exclusively. */
  get allExclusive(): CpuSet {
    return union(...[...this.#exclusive.values()].flatMap((pod) => [...pod.values()]));
  }

  /** Returns all assignments: pod UID, container, CPUs. */
  *entries(): IterableIterator<readonly [string, string, CpuSet]> {
    for (const [uid, pod] of this.#exclusive)
      for (const [container, cpus] of pod) yield [uid, container, cpus];
  }
}
