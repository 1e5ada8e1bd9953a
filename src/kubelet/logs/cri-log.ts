// Parses CRI log files. A line is `<RFC 3339 time, nanoseconds> <stdout|stderr> <P|F> <content>`.
// 'P' is a part of a line that continues in the next entry, 'F' is the end of a line.

export type LogStream = 'stdout' | 'stderr';

export interface LogEntry {
  /** The time in its written form. */
  readonly timestamp: string;
  readonly stream: LogStream;
  /** The line continues in the next entry. */
  readonly partial: boolean;
  /** The text without the newline. */
  readonly content: Buffer;
}

const SPACE = 0x20;

/** Parses a line without its newline. Returns undefined if it is not in this format. */
export function parseLogLine(line: Buffer): LogEntry | undefined {
  const first = line.indexOf(SPACE);
  const second = first < 0 ? -1 : line.indexOf(SPACE, first + 1);
  if (second < 0) return undefined;
  const third = line.indexOf(SPACE, second + 1);
  const tags = line.toString('latin1', second + 1, third < 0 ? line.length : third);
  const stream = line.toString('latin1', first + 1, second);
  const timestamp = line.toString('latin1', 0, first);
  if ((stream !== 'stdout' && stream !== 'stderr') || timestamp === '') return undefined;
  // Further tags may follow, separated by colons.
  return {
    timestamp,
    stream,
    partial: tags.split(':')[0] === 'P',
    content: third < 0 ? Buffer.alloc(0) : line.subarray(third + 1),
  };
}

/**
 * Returns milliseconds since the epoch, with the fraction of the timestamp; NaN for an invalid one.
 */
export function logTime(timestamp: string): number {
  const fraction = /\.(\d+)/.exec(timestamp)?.[1] ?? '';
  const base = Date.parse(timestamp.replace(/\.\d+/, ''));
  return base + (fraction === '' ? 0 : Number(`0.${fraction}`) * 1000);
}
