// Turns what a process writes into a container's log file. Lines longer than the limit are cut into partial entries, as
// containerd does it.

import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatLogEntry } from '../../cri/index.ts';
import type { LogStream } from '../../cri/index.ts';
import type { Clock } from '../../machinery/clock.ts';

const MAX_LINE = 16 * 1024;
const NEWLINE = 0x0a;

export class LogWriter {
  readonly #path: string;
  readonly #clock: Clock;
  #file: number | undefined;
  /** What came after the last newline, by stream. */
  readonly #pending = new Map<LogStream, Buffer>();

  /** `path` empty: everything is thrown away. The file is appended to, and made with its directory if need be. */
  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    this.reopen();
  }

  write(stream: LogStream, chunk: Buffer): void {
    if (this.#file === undefined) return;
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

  /** The stream is over: a line without its newline is written as it is. */
  end(stream: LogStream): void {
    const rest = this.#pending.get(stream);
    this.#pending.delete(stream);
    if (rest !== undefined && rest.length > 0) this.#append([formatLogEntry(this.#clock.now(), stream, true, rest)]);
  }

  /** Opens the path anew: the file was moved away. */
  reopen(): void {
    if (this.#path === '') return;
    mkdirSync(dirname(this.#path), { recursive: true });
    const file = openSync(this.#path, 'a', 0o640);
    this.#closeFile();
    this.#file = file;
  }

  /** Writes what is left of every stream: nobody says later that one is over. */
  close(): void {
    for (const stream of this.#pending.keys()) this.end(stream);
    this.#closeFile();
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #append(entries: readonly Buffer[]): void {
    if (this.#file === undefined || entries.length === 0) return;
    const data = Buffer.concat(entries);
    for (let written = 0; written < data.length;) written += writeSync(this.#file, data, written);
  }
}
