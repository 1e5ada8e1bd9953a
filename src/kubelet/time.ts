// Formats times of the runtime for the API.

import { formatTime } from '#machinery/text/time.ts';

/**
 * Returns the time in whole seconds; null for 0, by which the runtime means unknown. `ms`: since
 * the epoch.
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
