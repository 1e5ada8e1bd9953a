// Templates for the values of a key that is written periodically, such as a Lease, where only the
// times in the value change. A template is derived from two values and the times at which they were
// written. There is none if the values differ in anything else.

import { formatMicroTime, formatTime } from '#machinery/text/time.ts';

export interface WrittenValue {
  readonly value: Uint8Array;
  /** The time of the write, in milliseconds since the epoch. */
  readonly at: number;
}

export interface BeatTemplate {
  /** The number of bytes of each value. */
  readonly size: number;
  /** Returns the value that is written at a time, in milliseconds since the epoch. */
  at(time: number): Uint8Array;
}

/** Returns undefined if the second value is not the first with other times. */
export function beatTemplate(first: WrittenValue, second: WrittenValue): BeatTemplate | undefined {
  const { value } = second;
  if (first.value.length !== value.length || formatTime(first.at) === formatTime(second.at))
    return undefined;
  const before = Buffer.from(first.value);
  const after = Buffer.from(value);
  const micro = placesOf(formatMicroTime, before, after, first.at, second.at);
  const seconds = placesOf(formatTime, before, after, first.at, second.at);
  const render = (at: number): Uint8Array => {
    const next = Buffer.from(value);
    const text = formatTime(at);
    for (const place of seconds) next.write(text, place, 'latin1');
    if (micro.length > 0) {
      const precise = formatMicroTime(at);
      for (const place of micro) next.write(precise, place, 'latin1');
    }
    return next;
  };
  // Rendered for the time of the first value, all that is not a time must be as it was.
  return before.equals(render(first.at)) ? { size: value.length, at: render } : undefined;
}

/** Returns where both values have the time at which they were written. */
function placesOf(
  format: (at: number) => string,
  before: Buffer,
  after: Buffer,
  first: number,
  second: number,
): readonly number[] {
  const old = format(first);
  const text = format(second);
  const places: number[] = [];
  for (let at = after.indexOf(text); at >= 0; at = after.indexOf(text, at + text.length))
    if (before.toString('latin1', at, at + old.length) === old) places.push(at);
  return places;
}
