// Delays the reconcile of an object to collect changes of its pods.
//
// A reconcile reads all pods of its object. With one reconcile for each change of a pod, the work
// would grow with the square of the number of pods.

const DELAY_MS_PER_POD = 0.1;
const MAX_DELAY_MS = 200;
/** A shorter delay counts as none. */
const MIN_DELAY_MS = 1;

export class PodBatching {
  /** By key: the number of pods at the object's last reconcile. */
  readonly #podCounts = new Map<string, number>();

  record(key: string, podCount: number): void {
    this.#podCounts.set(key, podCount);
  }

  forget(key: string): void {
    this.#podCounts.delete(key);
  }

  /** Returns the delay between a change of a pod and the reconcile, in milliseconds. */
  delayMs(key: string): number {
    const delayMs = Math.min((this.#podCounts.get(key) ?? 0) * DELAY_MS_PER_POD, MAX_DELAY_MS);
    return delayMs < MIN_DELAY_MS ? 0 : delayMs;
  }
}
