// The usage between two measurements. Pure.

import type { Point } from './summary.ts';

export interface Usage {
  /** The end of the window, in wall-clock ms. */
  readonly time: number;
  readonly windowMs: number;
  /** In nanoseconds per second. */
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

/** Shorter windows are too coarse, and longer ones say little about the present. */
const MIN_WINDOW_MS = 900;
export const MAX_WINDOW_MS = 60_000;
/** A container that is at least this old has a usage since its start. */
const MIN_AGE_MS = 10_000;
/** The window of a rate that a kubelet has computed: upstream's kubelet measures every 10 s. */
const KUBELET_WINDOW_MS = 10_000;

/**
 * Returns the usage: since the previous measurement; otherwise since the start of a young
 * container, or as the kubelet has computed it. Undefined: another measurement is needed.
 */
export function usageOf(now: Point | undefined, before: Point | undefined): Usage | undefined {
  if (now === undefined) return undefined;
  const { time, memoryBytes, startedAt, nanoCores } = now;
  const over = (windowMs: number, nanoseconds: number): Usage => ({
    time,
    windowMs,
    nanoCores: Math.round((nanoseconds / windowMs) * 1000),
    memoryBytes,
  });
  if (before !== undefined && isPrevious(now, before))
    return over(time - before.time, now.cpuNanoseconds - before.cpuNanoseconds);
  const age = time - startedAt;
  if (startedAt > 0 && age >= MIN_AGE_MS && age <= MAX_WINDOW_MS)
    return over(age, now.cpuNanoseconds);
  if (nanoCores !== undefined) return { time, windowMs: KUBELET_WINDOW_MS, nanoCores, memoryBytes };
  return undefined;
}

/** Reports whether two measurements are of the same container, and the right time apart. */
function isPrevious(now: Point, before: Point): boolean {
  const windowMs = now.time - before.time;
  return (
    windowMs >= MIN_WINDOW_MS &&
    windowMs <= MAX_WINDOW_MS &&
    now.startedAt <= before.time &&
    now.cpuNanoseconds >= before.cpuNanoseconds
  );
}
