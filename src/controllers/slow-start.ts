// Makes many things of which all may fail for the same reason (a quota, an admission rule): few at first, so that the reason
// costs few attempts; twice as many each time that all went well.

export interface SlowStartResult {
  readonly successes: number;
  /** Calls that were made; the rest was not tried. */
  readonly attempts: number;
  /** Of the first that failed; undefined if none did. */
  readonly failure: unknown;
}

/** Calls `make` up to `count` times in batches of 1, 2, 4 …, the calls of a batch at once; stops after a batch with a failure. */
export async function slowStartBatch(
  count: number,
  initialBatch: number,
  make: () => Promise<unknown>,
): Promise<SlowStartResult> {
  let successes = 0;
  let attempts = 0;
  for (let size = Math.min(count, initialBatch); size > 0; size = Math.min(size * 2, count - attempts)) {
    attempts += size;
    const results = await Promise.allSettled(Array.from({ length: size }, make));
    const failed = results.filter((result) => result.status === 'rejected');
    successes += size - failed.length;
    if (failed[0] !== undefined) return { successes, attempts, failure: failed[0].reason };
  }
  return { successes, attempts, failure: undefined };
}
