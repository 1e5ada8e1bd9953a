// Back-off for the replacement of failed daemon pods: the delay grows with each failure on the same
// node.

const FIRST_MS = 1000;
const LONGEST_MS = 15 * 60_000;

interface Entry {
  readonly delayMs: number;
  readonly at: number;
}

export class FailureBackoff {
  /** By the DaemonSet's UID and node: the last delay. */
  readonly #entries = new Map<string, Entry>();

  /**
   * Returns 0 if the pod may be replaced now, and doubles the next delay; otherwise returns in how
   * many milliseconds to ask again.
   */
  take(key: string, nowMs: number): number {
    const entry = this.#entries.get(key);
    const remembered =
      entry !== undefined && nowMs - entry.at <= 2 * LONGEST_MS ? entry : undefined;
    if (remembered !== undefined && nowMs < remembered.at + remembered.delayMs)
      return remembered.at + remembered.delayMs - nowMs;
    const delayMs =
      remembered === undefined ? FIRST_MS : Math.min(remembered.delayMs * 2, LONGEST_MS);
    this.#entries.set(key, { delayMs, at: nowMs });
    return 0;
  }

  /** Removes the entries of a deleted DaemonSet. `prefix`: the common prefix of its keys. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
