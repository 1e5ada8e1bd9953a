// Expectations: writes of a controller that its informers have not shown yet. The cache lags behind the controller's own writes, and a
// controller that decides on a stale cache creates or deletes too much. So it records the expected events before it writes, and reconciles
// again when they have been observed, or when the expectation has expired.

import type { Clock } from '#machinery/clock.ts';

export interface ControllerExpectationsConfig {
  readonly clock: Clock;
  /** After this time expectations count as met: an event was lost, or the write never happened. Default: 5 minutes. */
  readonly timeoutMs?: number;
}

interface Expectation {
  /** Creations still to be seen; below 0 if more were seen than expected. */
  creations: number;
  /** UIDs whose deletion is still to be seen. */
  readonly deletions: Set<string>;
  /** On the clock's monotonic scale. */
  readonly since: number;
}

/** By the key of the object for which the controller works. Note first, then write: the event may come before the answer. */
export class ControllerExpectations {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expected = new Map<string, Expectation>();

  constructor(config: ControllerExpectationsConfig) {
    this.#clock = config.clock;
    this.#timeoutMs = config.timeoutMs ?? 300_000;
  }

  /** Replaces whatever was expected for the key. */
  expectCreations(key: string, count: number): void {
    this.setExpectations(key, count, []);
  }

  /** Replaces whatever was expected for the key. */
  expectDeletions(key: string, uids: readonly string[]): void {
    this.setExpectations(key, 0, uids);
  }

  setExpectations(key: string, creations: number, deletionUids: readonly string[]): void {
    this.#expected.set(key, {
      creations,
      deletions: new Set(deletionUids),
      since: this.#clock.monotonic(),
    });
  }

  /** A creation was seen, or failed and will never be. */
  creationObserved(key: string): void {
    const expectation = this.#expected.get(key);
    if (expectation !== undefined) expectation.creations--;
  }

  /**
   * A deletion was seen, or failed. Counts once per UID and only where expected: a graceful deletion shows first as an
   * update with a deletionTimestamp and later as a deletion, and both may be reported here.
   */
  deletionObserved(key: string, uid: string): void {
    this.#expected.get(key)?.deletions.delete(uid);
  }

  /** True if the cache shows all that was done, as far as is known: the controller may decide. */
  satisfiedExpectations(key: string): boolean {
    const expectation = this.#expected.get(key);
    if (expectation === undefined) return true;
    if (expectation.creations <= 0 && expectation.deletions.size === 0) return true;
    return this.remainingMs(key) <= 0;
  }

  /** How long until unmet expectations expire, in milliseconds; 0 if there are none. */
  remainingMs(key: string): number {
    const expectation = this.#expected.get(key);
    if (expectation === undefined) return 0;
    return Math.max(0, expectation.since + this.#timeoutMs - this.#clock.monotonic());
  }

  /** The object is gone: nothing is expected for its key. */
  deleteExpectations(key: string): void {
    this.#expected.delete(key);
  }
}
