// Creates many objects that may all fail for the same reason (a quota, an admission rule): few at
// first, so that a common failure costs few attempts, and twice as many after each batch without a
// failure.

export interface SlowStartResult {
  readonly successes: number;
  /** The number of calls that were made. */
  readonly attempts: number;
  /** The first failure; undefined if there was none. */
  readonly failure: unknown;
}

/**
 * Calls `make` up to `count` times in batches of 1, 2, 4 …, the calls of a batch at once; stops
 * after a batch with a failure.
 */
export async function slowStartBatch(
  count: number,
  initialBatch: number,
  make: () => Promise<unknown>,
): Promise<SlowStartResult> {
  let successes = 0;
  let attempts = 0;
  for (
    let size = Math.min(count, initialBatch);
    size > 0;
    size = Math.min(size * 2, count - attempts)
  ) {
    attempts += size;
    const results = await Promise.allSettled(Array.from({ length: size }, make));
    const failed = results.filter((result) => result.status === 'rejected');
    successes += size - failed.length;
    if (failed[0] !== undefined) return { successes, attempts, failure: failed[0].reason };
  }
  return { successes, attempts, failure: undefined };
}
