// Times as API objects write them.

/** metav1.Time: 'YYYY-MM-DDTHH:MM:SSZ' (whole seconds, cut off). `ms`: since the epoch. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime: 'YYYY-MM-DDTHH:MM:SS.mmmmmmZ'. `ms`: since the epoch. */
export function formatMicroTime(ms: number): string {
  return `${new Date(Math.floor(ms)).toISOString().slice(0, 23)}000Z`;
}

/** Milliseconds since the epoch of either form; undefined if there is no time, or none that can be read. */
export function parseTime(time: string | null | undefined): number | undefined {
  if (!time) return undefined;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}
