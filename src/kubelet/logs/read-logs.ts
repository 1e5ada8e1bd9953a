// Reads a container's log file for `kubectl logs`: from a line or time on, limited, and followed
// while the container writes, across rotations of the file.

import type { MemoryLog } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { inMemory, openLogFile, type LogFile } from './log-file.ts';
import { logTime, parseLogLine, type LogEntry, type LogStream } from './cri-log.ts';

export interface LogOptions {
  readonly follow?: boolean;
  /** The number of lines at the end to read. */
  readonly tailLines?: number;
  /** Skips output before this time, in wall-clock milliseconds. */
  readonly since?: number;
  /** Puts the time before each line. */
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
  /** The stream to read. Default: both. */
  readonly stream?: LogStream;
}

export interface LogSource {
  readonly path: string;
  /** The log, if it is in memory: there is no file then. */
  readonly log?: MemoryLog;
  readonly clock: Clock;
  /** Reports whether the container may still write. Called at the end of the file. */
  readonly isRunning: () => Promise<boolean>;
  /** The time between two reads while following, in milliseconds. Default: 250. */
  readonly pollMs?: number;
}

const BLOCK_BYTES = 64 * 1024;
/**
 * Longer lines cannot be entries of a container runtime. They are skipped, so that memory stays
 * bounded.
 */
const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Yields the log's content, including line ends. Rejects if the path is not a regular file (links
 * are not followed), or if it does not exist (ENOENT), unless the log is followed and the container
 * runs. Ends where the file ended at first; when following, once the container has ended and its whole log
 * was read. Also ends when the signal aborts.
 */
export async function* readLogs(
  source: LogSource,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  const format = makeFormatter(options);
  for await (const entry of entries(source, options, signal)) {
    const text = format(entry);
    if (text === undefined) continue;
    if (text.length >= left) {
      yield text.subarray(0, left);
      return;
    }
    left -= text.length;
    yield text;
  }
}

/** Returns a function that formats an entry; undefined: the entry has no output. */
function makeFormatter(options: LogOptions): (entry: LogEntry) => Buffer | undefined {
  // A line in several parts gets its time once, at its beginning.
  const inLine: Record<LogStream, boolean> = { stdout: false, stderr: false };
  return (entry) => {
    if (options.stream !== undefined && entry.stream !== options.stream) return undefined;
    const begins = !inLine[entry.stream];
    inLine[entry.stream] = entry.partial;
    if (begins && options.since !== undefined && logTime(entry.timestamp) < options.since)
      return undefined;
    const parts: Buffer[] = [];
    if (options.timestamps === true && begins) parts.push(Buffer.from(`${entry.timestamp} `));
    parts.push(entry.content);
    if (!entry.partial) parts.push(Buffer.from('\n'));
    return Buffer.concat(parts);
  };
}

async function* entries(
  source: LogSource,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogEntry> {
  let file = await openLog(source, options.follow === true, signal);
  if (file === undefined) return;
  try {
    const size = await file.size();
    // Lines that are written meanwhile would be more than were asked for, or never end.
    const end = options.follow === true ? Number.POSITIVE_INFINITY : size;
    let position =
      options.tailLines === undefined
        ? 0
        : await findTail(file, size, options.tailLines, options.stream, signal);
    let rest: Buffer = Buffer.alloc(0);
    /** The line is too long: it is skipped up to its end. */
    let skipping = false;
    while (!signal.aborted) {
      const block = await file.read(position, Math.min(BLOCK_BYTES, end - position));
      if (block.length > 0) {
        position += block.length;
        const lines = splitLines(Buffer.concat([rest, block]));
        rest = lines.rest;
        for (const line of lines.complete) {
          const entry = skipping ? undefined : parseLogLine(line);
          skipping = false;
          if (entry !== undefined) yield entry;
        }
        if (rest.length > MAX_LINE_BYTES) skipping = true;
        if (skipping) rest = Buffer.alloc(0);
        continue;
      }
      if (options.follow !== true || signal.aborted) return;
      // Called before the file is read again: the output before the container's end is then
      // complete.
      const running = await source.isRunning();
      if ((await file.size()) > position) continue;
      const rotated = await file.successor();
      if (rotated !== undefined) {
        await file.close();
        file = rotated;
        position = 0;
        rest = Buffer.alloc(0);
        skipping = false;
        continue;
      }
      if (!running) return;
      try {
        await source.clock.sleep(source.pollMs ?? 250, signal);
      } catch {
        return;
      }
    }
  } finally {
    await file.close();
  }
}

/**
 * Opens the file. A container without output may have none: when following, waits for the file as
 * long as the container runs. Returns undefined if the signal aborted first.
 */
async function openLog(
  source: LogSource,
  follow: boolean,
  signal: AbortSignal,
): Promise<LogFile | undefined> {
  if (source.log !== undefined) return inMemory(source.log);
  for (;;) {
    // Called before the file is opened: the output before the container's end is then complete.
    const running = follow && (await source.isRunning());
    try {
      return await openLogFile(source.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !running) throw error;
    }
    try {
      await source.clock.sleep(source.pollMs ?? 250, signal);
    } catch {
      return undefined;
    }
  }
}

function splitLines(data: Buffer): { readonly complete: Buffer[]; readonly rest: Buffer } {
  const complete: Buffer[] = [];
  let begin = 0;
  for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, begin)) {
    complete.push(data.subarray(begin, end));
    begin = end + 1;
  }
  return { complete, rest: data.subarray(begin) };
}

/**
 * Returns the offset of the last `lines` lines before `size`. Parts of one line count once, and only lines of
 * `stream` count if it is given.
 */
async function findTail(
  file: LogFile,
  size: number,
  lines: number,
  stream: LogStream | undefined,
  signal: AbortSignal,
): Promise<number> {
  if (lines <= 0) return size;
  let end = size;
  /** Returns the bytes from `end` to the first newline after it. */
  let pending: Buffer = Buffer.alloc(0);
  let found = 0;
  /** The offset of the line that is being counted. */
  let begin = size;
  while (end > 0 && !signal.aborted) {
    const length = Math.min(BLOCK_BYTES, end);
    const data = Buffer.concat([await file.read(end - length, length), pending]);
    const base = end - length;
    let stop = data.length;
    for (;;) {
      const newline = stop >= 2 ? data.lastIndexOf(NEWLINE, stop - 2) : -1;
      if (newline < 0 && base > 0) break;
      const line = data.subarray(newline + 1, stop);
      const entry = parseLogLine(line.at(-1) === NEWLINE ? line.subarray(0, -1) : line);
      if (entry !== undefined && (stream === undefined || entry.stream === stream)) {
        if (!entry.partial) {
          // The end of an earlier line: everything from `begin` on is complete.
          if (found === lines) return begin;
          found++;
        } else if (found === 0) found = 1;
        begin = base + newline + 1;
      }
      stop = newline + 1;
      if (newline < 0) return begin;
    }
    pending = Buffer.from(data.subarray(0, stop));
    // No entry is this long, so the search ends here.
    if (pending.length > MAX_LINE_BYTES) return begin;
    end = base;
  }
  return begin;
}
