// Computes quantiles of the scheduler's cycle times, from two readings of its metrics.

const BUCKET = /^scheduler_scheduling_algorithm_duration_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm;

/**
 * Upper bound in seconds → the number of cycles that took at most that; the last bound is infinite.
 */
export type CycleTimes = readonly (readonly [bound: number, count: number])[];

export function cycleTimes(metricsText: string): CycleTimes {
  return Array.from(metricsText.matchAll(BUCKET), ([, bound, count]) => [
    bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound),
    Number(count),
  ]);
}

/**
 * Returns the p-quantile of the cycles between two readings, in milliseconds, interpolated within
 * the bucket as Prometheus does. NaN if there was no cycle. Cycles beyond the last bound count as
 * that bound.
 */
export function cycleQuantileMs(before: CycleTimes, after: CycleTimes, p: number): number {
  const earlier = new Map(before);
  const counts = after.map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)] as const);
  const total = counts.at(-1)?.[1] ?? 0;
  if (total === 0) return Number.NaN;
  const rank = p * total;
  let [low, below] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= rank)
      return bound === Number.POSITIVE_INFINITY
        ? low * 1000
        : (low + ((bound - low) * (rank - below)) / (count - below)) * 1000;
    [low, below] = [bound, count];
  }
  return low * 1000;
}
