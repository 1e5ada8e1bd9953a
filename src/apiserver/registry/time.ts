// Times as the API writes them.

/** RFC 3339 in UTC with seconds: '2026-01-02T03:04:05Z'. */
export function formatTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}

/** Nearly always the time of now is asked for, thousands of times within a second. */
let lastSecond = Number.NaN;
let lastText = '';

/** Milliseconds since the epoch. */
export function parseTime(time: string): number {
  return Date.parse(time);
}
