// Times as the API writes them.

/** RFC 3339 in UTC with seconds: '2026-01-02T03:04:05Z'. */
export function formatTime(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Milliseconds since the epoch. */
export function parseTime(time: string): number {
  return Date.parse(time);
}
