// Reads a container's log file, as `kubectl logs` asks for it: from some line or time on, limited,
// and followed while the container writes, across rotations of the file.

import type { MemoryLog } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { inMemory, openLogFile, type LogFile } from './log-file.ts';
import { logTime, parseLogLine, type LogEntry, type LogStream } from './cri-log.ts';

export interface LogOptions {
  readonly follow?: boolean;
  /** Only so many lines at the end. */
  readonly tailLines?: number;
  /** Only what was written since then, wall-clock milliseconds. */
  readonly since?: number;
  /** Each line begins with its time. */
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
  /** Default: both. */
  readonly stream?: LogStream;
}

export interface LogSource {
  readonly path: string;
  /** The log, if it is in memory: there is no file then. */
  readonly log?: MemoryLog | undefined;
  readonly clock: Clock;
  /** Whether the container may still write; asked when the end of the file is reached. */
  readonly isRunning: () => Promise<boolean>;
  /** How often the file is looked at while following. Default: 250. */
  readonly pollMs?: number;
}

const BLOCK_BYTES = 64 * 1024;
/**
 * Longer lines are no entries of a container runtime: they are left out, whatever memory they would
 * take.
 */
const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * The log's content, line ends included. Rejects if the file cannot be read (ENOENT if it is not
 * there, unless it is followed and the container runs), or is not a regular file: a link is not
 * followed. Ends at the end of the file or, when following, once the container has ended and all of
 * its log was read. Ends as well when the signal aborts.
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

/** Returns the output of an entry; undefined: none. */
function makeFormatter(options: LogOptions): (entry: LogEntry) => Buffer | undefined {
  // A stream's line that is cut into parts has its time once, at its beginning.
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
    let position =
      options.tailLines === undefined
        ? 0
        : await findTail(file, options.tailLines, options.stream, signal);
    let rest: Buffer = Buffer.alloc(0);
    /** The line that `rest` was the beginning of is too long: it is passed over up to its end. */
    let skipping = false;
    while (!signal.aborted) {
      const block = await file.read(position, BLOCK_BYTES);
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
      // Asked before the file is looked at once more: what was written before the container ended
      // is then surely read.
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
 * The open file. A container that has not written yet may have none: when following, the file is
 * waited for as long as the container runs. Undefined: the signal aborted first.
 */
async function openLog(
  source: LogSource,
  follow: boolean,
  signal: AbortSignal,
): Promise<LogFile | undefined> {
  if (source.log !== undefined) return inMemory(source.log);
  for (;;) {
    // Asked before the file is opened: what a container wrote before it ended is then surely found.
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

/** Where the last `lines` lines begin: parts of one line count once, and only lines of `stream` count if it is given. */
async function findTail(
  file: LogFile,
  lines: number,
  stream: LogStream | undefined,
  signal: AbortSignal,
): Promise<number> {
  const size = await file.size();
  if (lines <= 0) return size;
  let end = size;
  /** Returns the bytes from `end` to the first newline after it. */
  let pending: Buffer = Buffer.alloc(0);
  let found = 0;
  /** Where the line that is being counted begins. */
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
          // The end of a line further up: everything from `begin` on is complete.
          if (found === lines) return begin;
          found++;
        } else if (found === 0) found = 1;
        begin = base + newline + 1;
      }
      stop = newline + 1;
      if (newline < 0) return begin;
    }
    pending = Buffer.from(data.subarray(0, stop));
    // No entry ends in so much text: nothing before it is looked for.
    if (pending.length > MAX_LINE_BYTES) return begin;
    end = base;
  }
  return begin;
}
