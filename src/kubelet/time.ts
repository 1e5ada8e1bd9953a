// Times of the runtime, as the API writes them.

import { formatTime } from '#machinery/text/time.ts';

/**
 * Returns the time with whole seconds; null for 0, which the runtime uses for times that it does
 * not know. `ms`: since the epoch.
 */
export function timeIfKnown(ms: number): string | null {
  return ms <= 0 ? null : formatTime(ms);
}

/**
 * Returns whole milliseconds since the epoch. `nanoseconds`: since the epoch, as the runtime
 * reports times.
 */
export function fromNanoseconds(nanoseconds: number): number {
  return Math.floor(nanoseconds / 1e6);
}
