// The desired pods of this node, and an upper bound for their requests: a pod that fits beside this
// bound is admitted without a look at the other pods.

import { type Amounts, podRequests } from './pod/resources.ts';
import type { Pod } from './types.ts';

export class DesiredPods {
  readonly #pods = new Map<string, Pod>();
  /** By UID: for each resource, the maximum over all versions of the pod and its allocations. */
  readonly #most = new Map<string, Amounts>();
  readonly #requestedAtMost = new Map<string, number>();

  get size(): number {
    return this.#pods.size;
  }

  /** An upper bound for the sum of requests and allocations of all pods. */
  get requestedAtMost(): Amounts {
    return this.#requestedAtMost;
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  values(): Iterable<Pod> {
    return this.#pods.values();
  }

  /** Adds or updates a pod. `allocated`: the pod with its allocated resources so far. */
  set(uid: string, pod: Pod, allocated: Pod): void {
    this.#pods.set(uid, pod);
    this.#raise(uid, podRequests(pod));
    this.#raise(uid, podRequests(allocated));
  }

  delete(uid: string): void {
    this.#pods.delete(uid);
    for (const [resource, amount] of this.#most.get(uid) ?? []) this.#add(resource, -amount);
    this.#most.delete(uid);
  }

  #raise(uid: string, requests: Amounts): void {
    const before = this.#most.get(uid);
    if (before === requests) return;
    if (before === undefined) {
      for (const [resource, amount] of requests) this.#add(resource, amount);
      this.#most.set(uid, requests);
      return;
    }
    let most: Map<string, number> | undefined;
    for (const [resource, amount] of requests) {
      const more = amount - (before.get(resource) ?? 0);
      if (more <= 0) continue;
      this.#add(resource, more);
      most ??= new Map(before);
      most.set(resource, amount);
    }
    if (most !== undefined) this.#most.set(uid, most);
  }

  #add(resource: string, amount: number): void {
    const sum = (this.#requestedAtMost.get(resource) ?? 0) + amount;
    if (sum === 0) this.#requestedAtMost.delete(resource);
    else this.#requestedAtMost.set(resource, sum);
  }
}
