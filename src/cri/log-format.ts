// The format of a container's log file: one line per line of output,
//   2026-01-02T03:04:05.678000000Z stdout F hello
// with the time of writing, the stream, and F (full) or P (partial: the line goes on in the next
// entry of its stream).

export type LogStream = 'stdout' | 'stderr';

export interface LogEntry {
  /** RFC 3339 with up to nine digits of fraction, as written. */
  readonly time: string;
  readonly stream: LogStream;
  /** The content is a piece of a longer line, not its end. */
  readonly partial: boolean;
  /** The text without the line break. */
  readonly content: Buffer;
}

const NEWLINE = Buffer.from('\n');

/** Returns the time of a log entry: RFC 3339, UTC, nine digits. `milliseconds`: since the epoch. */
export function logTime(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, -1)}000000Z`;
}

/** Returns one entry as it is written to the file, with its newline. */
export function formatLogEntry(
  milliseconds: number,
  stream: LogStream,
  partial: boolean,
  content: Uint8Array,
): Buffer {
  return Buffer.concat([
    Buffer.from(`${logTime(milliseconds)} ${stream} ${partial ? 'P' : 'F'} `),
    content,
    NEWLINE,
  ]);
}

/**
 * Parses one line of a log file (without its newline). Returns undefined if it is not in this
 * format.
 */
export function parseLogEntry(line: Buffer): LogEntry | undefined {
  const first = line.indexOf(0x20);
  const second = line.indexOf(0x20, first + 1);
  if (first <= 0 || second < 0) return undefined;
  const stream = line.toString('latin1', first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const third = line.indexOf(0x20, second + 1);
  const tagsEnd = third < 0 ? line.length : third;
  // Tags are a colon-separated list. The first tag is P or F.
  const tag = line.toString('latin1', second + 1, tagsEnd).split(':')[0];
  if (tag !== 'P' && tag !== 'F') return undefined;
  return {
    time: line.toString('latin1', 0, first),
    stream,
    partial: tag === 'P',
    content: third < 0 ? Buffer.alloc(0) : line.subarray(third + 1),
  };
}
