// The pods of a node. Every scheduling cycle adds one to a node whose former state a snapshot still
// holds: what both have in common is shared, so that it costs the same on a node of ten pods and on
// one of ten thousand.

import type { PodInfo } from './pod-info.ts';

/** In no particular order. */
export class PodList implements Iterable<PodInfo> {
  /** Shared with copies. Only added to, beyond what any of those who share it counts as its own. */
  #items: PodInfo[];
  #length: number;
  /** Whether #items may be shared, and so must not be changed within. */
  #shared = false;

  constructor(items: PodInfo[] = []) {
    this.#items = items;
    this.#length = items.length;
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): PodInfo {
    if (index < 0 || index >= this.#length)
      throw new RangeError(`there is no pod ${index} of ${this.#length}`);
    return this.#items[index] as PodInfo;
  }

  /** One that changes on its own. */
  copy(): PodList {
    const copy = new PodList();
    copy.#items = this.#items;
    copy.#length = this.#length;
    copy.#shared = true;
    this.#shared = true;
    return copy;
  }

  push(pod: PodInfo): void {
    // Another list that shares the items has added one here.
    if (this.#items.length !== this.#length) this.#unshare();
    this.#items.push(pod);
    this.#length++;
  }

  /**
   * Returns the pods that were added since `before`, if this list is a copy of it with additions
   * only; otherwise undefined.
   */
  addedTo(before: PodList): readonly PodInfo[] | undefined {
    if (this.#items !== before.#items || this.#length < before.#length) return undefined;
    return this.#items.slice(before.#length, this.#length);
  }

  /** The pod with this UID, which is taken out; undefined if it is not here. */
  remove(uid: string): PodInfo | undefined {
    for (let i = 0; i < this.#length; i++) {
      const pod = this.#items[i] as PodInfo;
      if (pod.uid !== uid) continue;
      this.#unshare();
      const last = this.#items.pop() as PodInfo;
      this.#length--;
      if (last !== pod) this.#items[i] = last;
      return pod;
    }
    return undefined;
  }

  /**
   * Puts another version of a pod in its place, also for those who share the list: it is the same
   * pod, and counts the same. Does nothing if it is not here. The search begins with what came
   * last.
   */
  replace(before: PodInfo, after: PodInfo): void {
    const index = this.#length === 0 ? -1 : this.#items.lastIndexOf(before, this.#length - 1);
    if (index >= 0) this.#items[index] = after;
  }

  some(condition: (pod: PodInfo) => boolean): boolean {
    for (let i = 0; i < this.#length; i++) if (condition(this.#items[i] as PodInfo)) return true;
    return false;
  }

  filter(condition: (pod: PodInfo) => boolean): PodInfo[] {
    const found: PodInfo[] = [];
    for (let i = 0; i < this.#length; i++) {
      const pod = this.#items[i] as PodInfo;
      if (condition(pod)) found.push(pod);
    }
    return found;
  }

  *[Symbol.iterator](): Iterator<PodInfo> {
    for (let i = 0; i < this.#length; i++) yield this.#items[i] as PodInfo;
  }

  #unshare(): void {
    if (!this.#shared && this.#items.length === this.#length) return;
    this.#items = this.#items.slice(0, this.#length);
    this.#shared = false;
  }
}
