// Writes log lines straight to a file descriptor: a line is with the kernel when `write` returns,
// so it is not lost if the process ends at once. process.stderr of a thread cannot promise that.
//
// The descriptor may be a non-blocking pipe, since Node makes the pipes of a main process so, and
// their flags are shared with threads and child processes. While such a pipe is full (EAGAIN),
// lines wait in order and are tried again every few milliseconds. Nothing tells when it drains:
// epoll is not available for a descriptor that another thread owns.

import { writeSync } from 'node:fs';
import type { Clock, Timer } from './clock.ts';
import { Fifo } from './collections/fifo.ts';
import { createLogger, type LogDestination, type Logger, type LoggerConfig } from './log.ts';

const STDERR = 2;
const RETRY_MS = 10;
/** How long `flush` waits for a full pipe by default, in milliseconds. */
const FLUSH_MS = 250;
const FLUSH_RETRY_MS = 5;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

export interface LineWriterConfig {
  readonly fd: number;
  readonly clock: Clock;
  /** Called with the number of lost lines, once lines are written again. May write a line. */
  readonly onLost: (lines: number) => void;
  /** The limit on lines that wait; a line beyond it is lost. Default: 16 MiB. */
  readonly maxWaitingBytes?: number;
}

/** Lines are whole and in order in the output, however often the pipe takes a part only. */
export class LineWriter implements LogDestination {
  readonly #config: LineWriterConfig;
  readonly #maxWaitingBytes: number;
  /** Lines after `#current`, which is being written or is empty. Not empty only while a timer runs. */
  readonly #waiting = new Fifo<Buffer>();
  #current: Buffer = Buffer.alloc(0);
  #waitingBytes = 0;
  #lost = 0;
  #retry: Timer | undefined;

  constructor(config: LineWriterConfig) {
    this.#config = config;
    this.#maxWaitingBytes = config.maxWaitingBytes ?? MAX_WAITING_BYTES;
  }

  /**
   * Writes the line, or keeps it until the pipe has room. Never throws: a line that cannot be
   * written for another reason than a full pipe is lost, and counted.
   */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#retry !== undefined && this.#waitingBytes + bytes.length > this.#maxWaitingBytes) {
      this.#lost++;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#retry === undefined) this.#drain();
  }

  /** Writes what waits before the process ends. Blocks the thread for at most `maxMs`. */
  flush(maxMs = FLUSH_MS): void {
    const { clock } = this.#config;
    const until = clock.monotonic() + maxMs;
    const never = new Int32Array(new SharedArrayBuffer(4));
    this.#drain();
    while (this.#retry !== undefined && clock.monotonic() < until) {
      Atomics.wait(never, 0, 0, FLUSH_RETRY_MS);
      this.#drain();
    }
  }

  #drain(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    let hasWritten = false;
    while (this.#next()) {
      try {
        while (this.#current.length > 0) {
          const count = writeSync(this.#config.fd, this.#current);
          this.#current = this.#current.subarray(count);
          this.#waitingBytes -= count;
        }
        hasWritten = true;
      } catch (error) {
        if (isFull(error)) {
          this.#retry = this.#config.clock.setTimer(RETRY_MS, () => this.#drain());
          return;
        }
        this.#waitingBytes -= this.#current.length;
        this.#current = Buffer.alloc(0);
        this.#lost++;
      }
    }
    if (hasWritten) this.#reportLost();
  }

  /** Takes the next line if the current one is written. Reports whether there is one to write. */
  #next(): boolean {
    if (this.#current.length === 0) this.#current = this.#waiting.shift() ?? this.#current;
    return this.#current.length > 0;
  }

  #reportLost(): void {
    if (this.#lost === 0) return;
    const lines = this.#lost;
    this.#lost = 0;
    this.#config.onLost(lines);
  }
}

/**
 * Returns a logger that writes lines straight to the process' stderr. At the end of the process or
 * thread it writes what waits for a full pipe, for at most a quarter of a second.
 */
export function createStderrLogger(
  config: Omit<LoggerConfig, 'destination'> & { readonly clock: Clock },
): Logger {
  const destination = new LineWriter({
    fd: STDERR,
    clock: config.clock,
    onLost: (lines) => logger.error('log lines were lost: stderr could not be written', { lines }),
  });
  const logger = createLogger({ ...config, destination });
  process.once('exit', () => destination.flush());
  return logger;
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
