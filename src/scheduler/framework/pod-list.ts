// The pods of a node. Every scheduling cycle adds one to a node whose former state a snapshot still
// has: copies share their common part, so that an addition costs the same on a node with ten pods
// and with ten thousand.

import type { PodInfo } from './pod-info.ts';

/** A list in no particular order. */
export class PodList implements Iterable<PodInfo> {
  /**
   * Shared with copies. Elements are only appended, beyond the length of any list that shares the
   * array.
   */
  #items: PodInfo[];
  #length: number;
  /** Whether #items may be shared, so that its elements must not be changed. */
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
    return this.#items[index]!;
  }

  /** Returns a copy that changes independently. */
  copy(): PodList {
    const copy = new PodList();
    copy.#items = this.#items;
    copy.#length = this.#length;
    copy.#shared = true;
    this.#shared = true;
    return copy;
  }

  push(pod: PodInfo): void {
    // Another list that shares the array has appended an element.
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

  /** Removes the pod with this UID and returns it; undefined if it is not in the list. */
  remove(uid: string): PodInfo | undefined {
    for (let i = 0; i < this.#length; i++) {
      const pod = this.#items[i]!;
      if (pod.uid !== uid) continue;
      this.#unshare();
      const last = this.#items.pop()!;
      this.#length--;
      if (last !== pod) this.#items[i] = last;
      return pod;
    }
    return undefined;
  }

  /**
   * Replaces a version of a pod by another that counts the same, also in lists that share the
   * array. Does nothing if it is not in the list. The search begins at the end.
   */
  replace(before: PodInfo, after: PodInfo): void {
    const index = this.#length === 0 ? -1 : this.#items.lastIndexOf(before, this.#length - 1);
    if (index >= 0) this.#items[index] = after;
  }

  some(condition: (pod: PodInfo) => boolean): boolean {
    for (let i = 0; i < this.#length; i++) if (condition(this.#items[i]!)) return true;
    return false;
  }

  filter(condition: (pod: PodInfo) => boolean): PodInfo[] {
    const found: PodInfo[] = [];
    for (let i = 0; i < this.#length; i++) {
      const pod = this.#items[i]!;
      if (condition(pod)) found.push(pod);
    }
    return found;
  }

  *[Symbol.iterator](): Iterator<PodInfo> {
    for (let i = 0; i < this.#length; i++) yield this.#items[i]!;
  }

  #unshare(): void {
    if (!this.#shared && this.#items.length === this.#length) return;
    this.#items = this.#items.slice(0, this.#length);
    this.#shared = false;
  }
}
