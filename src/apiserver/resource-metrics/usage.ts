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

/** Longer windows say little about the present. */
export const MAX_WINDOW_MS = 60_000;
/** The times of summaries are whole seconds, so the rate over a shorter window is inexact. */
const MIN_WINDOW_MS = 10_000;
/** The window of a rate of a kubelet that was not asked before: upstream's measures every 10 s. */
const KUBELET_WINDOW_MS = 10_000;

/**
 * Returns the usage: as the kubelet has computed it; otherwise since the previous measurement, or
 * since the start of a young container. Undefined: another measurement is needed.
 */
export function usageOf(now: Point | undefined, before: Point | undefined): Usage | undefined {
  if (now === undefined) return undefined;
  const { time, memoryBytes, startedAt, nanoCores, cpuNanoseconds } = now;
  const previous = before !== undefined && isPrevious(now, before) ? before : undefined;
  const windowMs = previous === undefined ? 0 : time - previous.time;
  if (nanoCores !== undefined)
    return { time, windowMs: windowMs || KUBELET_WINDOW_MS, nanoCores, memoryBytes };
  const over = (ms: number, nanoseconds: number): Usage => ({
    time,
    windowMs: ms,
    nanoCores: Math.round((nanoseconds / ms) * 1000),
    memoryBytes,
  });
  if (previous !== undefined && windowMs >= MIN_WINDOW_MS)
    return over(windowMs, cpuNanoseconds - previous.cpuNanoseconds);
  const age = time - startedAt;
  return startedAt > 0 && age >= MIN_WINDOW_MS && age <= MAX_WINDOW_MS
    ? over(age, cpuNanoseconds)
    : undefined;
}

/** Reports whether an earlier measurement is of the same container, and not too long ago. */
function isPrevious(now: Point, before: Point): boolean {
  const windowMs = now.time - before.time;
  return (
    windowMs > 0 &&
    windowMs <= MAX_WINDOW_MS &&
    now.startedAt <= before.time &&
    now.cpuNanoseconds >= before.cpuNanoseconds
  );
}
