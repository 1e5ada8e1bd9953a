// Writes the output of a process to a container's log file. Lines longer than the limit are split
// into partial entries, as containerd does.
//
// An unwritable log (no space, not a file) never stops the container or the runtime: output is
// dropped and counted until writing works again.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { formatLogEntry, type LogStream } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { describeType, FileTypeError } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';

const MAX_LINE = 16 * 1024;
const NEWLINE = 0x0a;
/** How long after a failure the file is reopened, in milliseconds. */
const REOPEN_MS = 1000;
/**
 * With these flags, a FIFO or device at the path does not block the event loop, and links are not
 * followed.
 */
const { O_APPEND, O_CREAT, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

export class LogWriter {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #file: number | undefined;
  /** The monotonic time before which the file is not reopened. */
  #retryAt = 0;
  /** The number of bytes of dropped entries since the last written one. */
  #dropped = 0;
  /** The bytes after the last newline, by stream. */
  readonly #pending = new Map<LogStream, Buffer>();

  /**
   * Opens the log. With an empty `path`, output is discarded. The file is appended to, and created
   * with its directory if needed. Never throws.
   */
  constructor(path: string, clock: Clock, logger: Logger) {
    this.#path = path;
    this.#clock = clock;
    this.#logger = logger;
    this.#tryOpen();
  }

  /** Returns the number of bytes of dropped entries since the last written one. */
  get dropped(): number {
    return this.#dropped;
  }

  write(stream: LogStream, chunk: Buffer): void {
    if (this.#path === '') return;
    const pending = this.#pending.get(stream);
    let rest = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
    const entries: Buffer[] = [];
    const now = this.#clock.now();
    for (;;) {
      const end = rest.indexOf(NEWLINE);
      if (end >= 0 && end <= MAX_LINE) {
        entries.push(formatLogEntry(now, stream, false, rest.subarray(0, end)));
        rest = rest.subarray(end + 1);
      } else if (rest.length > MAX_LINE) {
        entries.push(formatLogEntry(now, stream, true, rest.subarray(0, MAX_LINE)));
        rest = rest.subarray(MAX_LINE);
      } else {
        break;
      }
    }
    this.#pending.set(stream, Buffer.from(rest));
    this.#append(entries);
  }

  /** Handles the end of a stream: an incomplete line is written as it is. */
  end(stream: LogStream): void {
    const rest = this.#pending.get(stream);
    this.#pending.delete(stream);
    if (rest !== undefined && rest.length > 0)
      this.#append([formatLogEntry(this.#clock.now(), stream, true, rest)]);
  }

  /**
   * Reopens the path after the file was moved. Throws if that fails; the open file is then kept.
   */
  reopen(): void {
    if (this.#path === '') return;
    mkdirSync(dirname(this.#path), { recursive: true });
    const file = openSync(this.#path, FLAGS, 0o640);
    const info = fstatSync(file);
    if (!info.isFile()) {
      closeSync(file);
      throw new FileTypeError(this.#path, describeType(info), 'regular file');
    }
    this.#closeFile();
    this.#file = file;
  }

  /** Writes the incomplete lines of all streams. Their ends are not reported separately. */
  close(): void {
    for (const stream of this.#pending.keys()) this.end(stream);
    this.#closeFile();
    if (this.#dropped > 0)
      this.#logger.warn('container log closed, output was lost', {
        path: this.#path,
        bytes: this.#dropped,
      });
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #tryOpen(): void {
    try {
      this.reopen();
    } catch (error) {
      this.#failed(error);
    }
  }

  #append(entries: readonly Buffer[]): void {
    if (this.#path === '' || entries.length === 0) return;
    if (this.#file === undefined && this.#clock.monotonic() >= this.#retryAt) this.#tryOpen();
    const data = Buffer.concat(entries);
    if (this.#file === undefined) {
      this.#dropped += data.length;
      return;
    }
    let written = 0;
    try {
      while (written < data.length) written += writeSync(this.#file, data, written);
      if (this.#dropped > 0)
        this.#logger.warn('container log is written again', {
          path: this.#path,
          droppedBytes: this.#dropped,
        });
      this.#dropped = 0;
    } catch (error) {
      this.#failed(error);
      const kept = lengthOfWhole(entries, written);
      this.#dropped += data.length - kept;
      this.#takeBack(this.#file, written - kept);
    }
  }

  /** Removes a partly written entry, which would run into the next one. */
  #takeBack(file: number, bytes: number): void {
    if (bytes === 0) return;
    try {
      ftruncateSync(file, Math.max(0, fstatSync(file).size - bytes));
    } catch (error) {
      this.#logger.debug('container log has a part of an entry', { path: this.#path, err: error });
    }
  }

  /** Logs the first failure after a success: a full disk fails at every write. */
  #failed(err: unknown): void {
    this.#retryAt = this.#clock.monotonic() + REOPEN_MS;
    if (this.#dropped === 0)
      this.#logger.warn('container log not written, output is dropped', { path: this.#path, err });
  }
}

/** Returns the length of the entries that lie in the first `written` bytes of all of them. */
function lengthOfWhole(entries: readonly Buffer[], written: number): number {
  let length = 0;
  for (const entry of entries) {
    if (length + entry.length > written) break;
    length += entry.length;
  }
  return length;
}
