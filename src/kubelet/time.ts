// Times as the API writes them.

/** RFC 3339 in UTC, whole seconds; null for 0, which is "not known". */
export function formatTime(ms: number): string | null {
  return ms <= 0 ? null : timestamp(ms);
}

/** RFC 3339 in UTC, whole seconds. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 in UTC, microseconds (the finer digits are 0): Lease.renewTime and the like. */
export function microTimestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** Nanoseconds since the epoch, as the runtime gives them, in whole milliseconds. */
export function fromNanoseconds(nanoseconds: number): number {
  return Math.floor(nanoseconds / 1e6);
}
