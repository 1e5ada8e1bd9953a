// Byte streams between simulated processes.

import type { Kernel } from './kernel.ts';

export interface Output {
  /** Resolves when the bytes were accepted. Rejects with BrokenPipe if there is no reader. */
  write(bytes: Uint8Array): Promise<void>;
}

/** The reader of a pipe has ended: the writing process ends with 141, as by SIGPIPE. */
export class BrokenPipe extends Error {}

const CAPACITY = 64 * 1024;
const encoder = new TextEncoder();

export const discard: Output = { write: () => Promise.resolve() };

export function writeText(output: Output, text: string): Promise<void> {
  return output.write(encoder.encode(text));
}

/** Reads a source of chunks with a buffer. */
export class Input {
  readonly #source: () => Promise<Uint8Array | undefined>;
  #buffered: Uint8Array = new Uint8Array(0);
  #ended = false;

  /** Creates an input. `source`: resolves with undefined at the end. */
  constructor(source: () => Promise<Uint8Array | undefined>) {
    this.#source = source;
  }

  static of(bytes: Uint8Array): Input {
    let rest: Uint8Array | undefined = bytes;
    return new Input(() => {
      const chunk = rest;
      rest = undefined;
      return Promise.resolve(chunk);
    });
  }

  static empty(): Input {
    return new Input(() => Promise.resolve(undefined));
  }

  /** Returns the next available bytes; undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#buffered.length > 0) {
      const chunk = this.#buffered;
      this.#buffered = new Uint8Array(0);
      return chunk;
    }
    if (this.#ended) return undefined;
    const chunk = await this.#source();
    if (chunk === undefined) this.#ended = true;
    return chunk;
  }

  /** Returns a line with its newline, or the rest without one; undefined at the end. */
  async readLine(limit = 1024 * 1024): Promise<string | undefined> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const chunk = await this.read();
      if (chunk === undefined) break;
      const end = chunk.indexOf(10);
      if (end !== -1) {
        parts.push(chunk.subarray(0, end + 1));
        this.#buffered = chunk.subarray(end + 1);
        break;
      }
      parts.push(chunk);
      length += chunk.length;
      if (length > limit) break;
    }
    return parts.length === 0 ? undefined : Buffer.concat(parts).toString();
  }

  /** Returns exactly `length` bytes, fewer only at the end. */
  async readExactly(length: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let missing = length;
    while (missing > 0) {
      const chunk = await this.read();
      if (chunk === undefined) break;
      parts.push(chunk.subarray(0, missing));
      if (chunk.length > missing) this.#buffered = chunk.subarray(missing);
      missing -= Math.min(missing, chunk.length);
    }
    return Buffer.concat(parts);
  }

  /** Returns all bytes. Rejects if there are more than `limit`. */
  async readAll(limit: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      parts.push(chunk);
      length += chunk.length;
      if (length > limit) throw new Error('Cannot allocate memory');
    }
    return Buffer.concat(parts);
  }
}

/** A pipe of bounded size: the writer waits for the reader. */
export class Pipe implements Output {
  readonly #kernel: Kernel;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #writerClosed = false;
  #readerClosed = false;
  #wake: (() => void)[] = [];
  readonly input = new Input(() => this.#read());

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  async write(bytes: Uint8Array): Promise<void> {
    while (this.#size >= CAPACITY && !this.#readerClosed) await this.#change();
    if (this.#readerClosed) throw new BrokenPipe('broken pipe');
    if (bytes.length === 0) return;
    this.#chunks.push(bytes);
    this.#size += bytes.length;
    this.#changed();
  }

  closeWriter(): void {
    this.#writerClosed = true;
    this.#changed();
  }

  closeReader(): void {
    this.#readerClosed = true;
    this.#changed();
  }

  async #read(): Promise<Uint8Array | undefined> {
    while (this.#chunks.length === 0 && !this.#writerClosed) await this.#change();
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) this.#size -= chunk.length;
    this.#changed();
    return chunk;
  }

  #change(): Promise<void> {
    return this.#kernel.blocked(new Promise((resolve) => this.#wake.push(resolve)));
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** The streams of a process. */
export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}
