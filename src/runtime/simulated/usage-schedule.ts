// The usage of a simulated container over time: a first value, and others from later times on.

export interface UsageStep {
  /** Since the container's start, in ms. The first step has 0, and later ones are in order. */
  readonly fromMs: number;
  readonly value: number;
}

/** At least one step. */
export type UsageSchedule = readonly [UsageStep, ...UsageStep[]];

export const constantUsage = (value: number): UsageSchedule => [{ fromMs: 0, value }];

/** Returns the value at a time since the container's start, in ms. */
export function usageAt(schedule: UsageSchedule, ms: number): number {
  return (schedule.findLast(({ fromMs }) => fromMs <= ms) ?? schedule[0]).value;
}

/** Returns the sum of value times ms from the container's start to this time. */
export function usageUntil(schedule: UsageSchedule, ms: number): number {
  return schedule.reduce((sum, { fromMs, value }, index) => {
    const endMs = Math.min(ms, schedule[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY);
    return endMs > fromMs ? sum + value * (endMs - fromMs) : sum;
  }, 0);
}
