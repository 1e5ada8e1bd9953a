// Expectations: writes of a controller that its informers have not received yet. The cache lags
// behind the controller's own writes, and a controller that decides on a stale cache creates or
// deletes too much. It therefore records the expected events before it writes, and reconciles again
// when they have been observed, or when the expectation has expired.

import type { Clock } from '#machinery/clock.ts';

export interface ControllerExpectationsConfig {
  readonly clock: Clock;
  /**
   * The time after which expectations count as satisfied: an event was lost, or the write did not
   * happen. Default: 5 minutes.
   */
  readonly timeoutMs?: number;
}

interface Expectation {
  /**
   * The number of creations that are not observed yet; below 0 if more were observed than expected.
   */
  creations: number;
  /** UIDs whose deletion is not observed yet. */
  readonly deletions: Set<string>;
  /** The time of the expectation, on the clock's monotonic scale. */
  readonly since: number;
}

/**
 * Expectations by the key of the object that the controller reconciles. Record first, then write:
 * the event may arrive before the response.
 */
export class ControllerExpectations {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expected = new Map<string, Expectation>();

  constructor(config: ControllerExpectationsConfig) {
    this.#clock = config.clock;
    this.#timeoutMs = config.timeoutMs ?? 300_000;
  }

  /** Expects `count` creations. Replaces earlier expectations of the key. */
  expectCreations(key: string, count: number): void {
    this.setExpectations(key, count, []);
  }

  /** Expects deletions of these UIDs. Replaces earlier expectations of the key. */
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

  /** Records that a creation was observed, or that it failed. */
  creationObserved(key: string): void {
    const expectation = this.#expected.get(key);
    if (expectation !== undefined) expectation.creations--;
  }

  /**
   * Records that a deletion was observed, or that it failed. Counts once per UID, and only if
   * expected: a graceful deletion is first an update with a deletionTimestamp and later a deletion,
   * and both may be reported here.
   */
  deletionObserved(key: string, uid: string): void {
    this.#expected.get(key)?.deletions.delete(uid);
  }

  /**
   * Reports whether the cache shows all of the controller's writes, so that it may decide. True
   * also after the timeout.
   */
  satisfiedExpectations(key: string): boolean {
    const expectation = this.#expected.get(key);
    if (expectation === undefined) return true;
    if (expectation.creations <= 0 && expectation.deletions.size === 0) return true;
    return this.remainingMs(key) <= 0;
  }

  /** Returns the milliseconds until unsatisfied expectations expire; 0 if there are none. */
  remainingMs(key: string): number {
    const expectation = this.#expected.get(key);
    if (expectation === undefined) return 0;
    return Math.max(0, expectation.since + this.#timeoutMs - this.#clock.monotonic());
  }

  /** Removes the expectations of a deleted object. */
  deleteExpectations(key: string): void {
    this.#expected.delete(key);
  }
}
