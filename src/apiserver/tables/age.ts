// The age of an object in a table's cell.

import { humanDuration } from '#machinery/text/duration.ts';

/** Returns the time since an RFC 3339 time; '<unknown>' without one. `now`: in ms. */
export function since(time: string | null | undefined, now: number): string {
  return time === undefined || time === null || time === ''
    ? '<unknown>'
    : humanDuration(now - Date.parse(time));
}
