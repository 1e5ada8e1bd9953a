// How long ago something was, as a table's cell shows it.

import { humanDuration } from '#machinery/text/duration.ts';

/** Since an RFC 3339 time; '<unknown>' without one. `now` in milliseconds. */
export function since(time: string | null | undefined, now: number): string {
  return time === undefined || time === null || time === ''
    ? '<unknown>'
    : humanDuration(now - Date.parse(time));
}
