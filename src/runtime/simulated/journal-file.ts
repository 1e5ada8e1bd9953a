// Files of lines: reading all lines of one, and writing one that will replace another.

import { closeSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';

const NEWLINE = 0x0a;
const NEWLINE_BYTES = Buffer.from('\n');

/**
 * Calls `take` with the bytes of each line, without its newline, which are valid during the call
 * only. Returns the number of bytes after the last newline. `atOnce`: the bytes per read, since a
 * large file does not fit into a buffer.
 */
export function eachLine(
  file: number,
  atOnce: number,
  take: (bytes: Buffer, offset: number) => void,
): number {
  const chunk = Buffer.allocUnsafe(atOnce);
  /** The beginning of a line that ends in a later chunk. */
  let begun: Buffer[] = [];
  let offset = 0;
  let position = 0;
  for (let size = 0; (size = readSync(file, chunk, 0, atOnce, position)) > 0; position += size) {
    const bytes = chunk.subarray(0, size);
    let start = 0;
    for (let end; (end = bytes.indexOf(NEWLINE, start)) !== -1; start = end + 1) {
      const rest = bytes.subarray(start, end);
      take(begun.length === 0 ? rest : Buffer.concat([...begun, rest]), offset);
      begun = [];
      offset = position + end + 1;
    }
    if (start < size) begun.push(Buffer.from(bytes.subarray(start)));
  }
  return position - offset;
}

/** More bytes than this are not kept. */
const MAX_SCRATCH = 1024 * 1024;

/**
 * Memory for bytes that are done with at once. A new buffer for each read and write would be garbage
 * that V8 counts: it collects the whole heap for each 64 MiB of it.
 */
export class Scratch {
  #bytes = Buffer.alloc(0);

  /** Returns memory with any content, which the next call returns again. */
  take(length: number): Buffer {
    if (length > MAX_SCRATCH) return Buffer.allocUnsafeSlow(length);
    if (this.#bytes.length < length)
      this.#bytes = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
    return this.#bytes.subarray(0, length);
  }
}

/** A line without its newline. */
export interface EncodedLine {
  readonly text: string;
  /** Its size in bytes. */
  readonly length: number;
}

/**
 * Writes lines to the end of a file. Returns the number of bytes. Throws errors of the file system.
 */
export function appendLines(file: number, lines: readonly EncodedLine[], scratch: Scratch): number {
  const bytes = scratch.take(lines.reduce((sum, { length }) => sum + length + 1, 0));
  let end = 0;
  for (const { text, length } of lines) {
    bytes.write(text, end);
    end += length;
    bytes[end++] = NEWLINE;
  }
  writeAll(file, bytes);
  return bytes.length;
}

function writeAll(file: number, bytes: Buffer): void {
  // A disk that becomes full takes a part first.
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

/** A file that is written beside another one, and then replaces it. */
export class Replacement {
  readonly #path: string;
  readonly #file: number;
  #waiting: Buffer[] = [];
  /** The number of bytes, with those that wait. */
  #length = 0;

  /** Throws errors of the file system, as all methods. */
  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(`${path}.new`, 'w', 0o600);
  }

  /** The number of lines that wait for `flush`. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Adds a line, which is given without its newline. Returns its offset. */
  put(line: Buffer): number {
    const offset = this.#length;
    this.#waiting.push(line);
    this.#length += line.length + 1;
    return offset;
  }

  flush(): void {
    writeAll(this.#file, Buffer.concat(this.#waiting.flatMap((line) => [line, NEWLINE_BYTES])));
    this.#waiting = [];
  }

  /** Replaces the old file. Returns the file, to append to, and its length. */
  finish(): { readonly file: number; readonly length: number } {
    this.flush();
    renameSync(`${this.#path}.new`, this.#path);
    return { file: this.#file, length: this.#length };
  }

  abandon(): void {
    closeSync(this.#file);
    rmSync(`${this.#path}.new`, { force: true });
  }
}
