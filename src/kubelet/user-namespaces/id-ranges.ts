// Assigns ranges of IDs to pods: equally long, aligned to their length, and disjoint.

/** Consecutive IDs of the node. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** The number of IDs: user and group IDs have 32 bits. */
export const ALL_IDS = 2 ** 32;

export class IdRangeError extends Error {}

export class IdRanges {
  readonly #idsPerPod: number;
  /** The index of the first range: its first ID divided by `idsPerPod`. */
  readonly #firstIndex: number;
  readonly #count: number;
  /** By pod UID: the index of its range. */
  readonly #byPod = new Map<string, number>();
  /** The indices in #byPod. */
  readonly #used = new Set<number>();
  /** Where the search for a free range continues: a released range is not used again at once. */
  #next = 0;

  /**
   * Creates ranges in `available`. Throws IdRangeError, with upstream's message, if that is not
   * aligned or too small for `maxPods` pods.
   */
  constructor(available: IdRange, idsPerPod: number, maxPods: number) {
    const { first, length } = available;
    if (first % idsPerPod !== 0)
      throw new IdRangeError(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
    // A range that contains root would be no protection.
    if (first < idsPerPod) {
      throw new IdRangeError(
        `kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`,
      );
    }
    if (length % idsPerPod !== 0) {
      throw new IdRangeError(
        `kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`,
      );
    }
    if (length / idsPerPod < maxPods) {
      throw new IdRangeError(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
    }
    this.#idsPerPod = idsPerPod;
    this.#firstIndex = first / idsPerPod;
    this.#count = length / idsPerPod;
  }

  /** Returns the UIDs of pods with a range. */
  pods(): Iterable<string> {
    return this.#byPod.keys();
  }

  /** Assigns a free range to the pod. Throws IdRangeError if there is none. */
  allocate(uid: string): IdRange {
    if (this.#used.size >= this.#count)
      throw new IdRangeError('could not find an empty slot to allocate a user namespace');
    while (this.#used.has(this.#firstIndex + this.#next))
      this.#next = (this.#next + 1) % this.#count;
    const index = this.#firstIndex + this.#next;
    this.#next = (this.#next + 1) % this.#count;
    this.#assign(uid, index);
    return { first: index * this.#idsPerPod, length: this.#idsPerPod };
  }

  /**
   * Assigns a range that the pod has had already. Throws IdRangeError if that is no range of these,
   * or another pod has it.
   */
  record(uid: string, { first, length }: IdRange): void {
    if (length !== this.#idsPerPod) throw new IdRangeError(`wrong user namespace length ${length}`);
    if (first % length !== 0)
      throw new IdRangeError(`wrong user namespace offset specified ${first}`);
    const index = first / length;
    const known = this.#byPod.get(uid);
    if (known === index) return;
    if (known !== undefined) {
      throw new IdRangeError(`different user namespace range already used by pod "${uid}"`);
    }
    if (index < this.#firstIndex || index >= this.#firstIndex + this.#count)
      throw new IdRangeError(`id ${first} is out of range`);
    if (this.#used.has(index))
      throw new IdRangeError(`range picked for pod "${uid}" already taken`);
    this.#assign(uid, index);
  }

  /** Makes the range of the pod free, if it has one. */
  release(uid: string): void {
    const index = this.#byPod.get(uid);
    if (index === undefined) return;
    this.#byPod.delete(uid);
    this.#used.delete(index);
  }

  #assign(uid: string, index: number): void {
    this.#byPod.set(uid, index);
    this.#used.add(index);
  }
}
