// The log of a simulated container in memory: entries as they would be in its file. The oldest go
// when there are too many.

import type { MemoryLog } from '#cri/index.ts';
import { ForkableLog } from '#machinery/collections/forkable-log.ts';

/** A container that writes more loses its oldest output, as one whose log file is rotated. */
const MAX_BYTES = 10 * 1024 * 1024;

interface Piece {
  /** Whole entries, which are never changed. */
  readonly bytes: Buffer;
  /** The bytes before it. */
  readonly start: number;
}

export class ContainerLog implements MemoryLog {
  #pieces = new ForkableLog<Piece>();
  #start = 0;
  #end = 0;

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** `bytes`: whole entries. */
  append(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pieces.push({ bytes, start: this.#end });
    this.#end += bytes.length;
    let first = this.#pieces.at(0);
    while (first !== undefined && this.#end - this.#start > MAX_BYTES && this.#pieces.length > 1) {
      this.#pieces.dropFirst(1);
      this.#start += first.bytes.length;
      first = this.#pieces.at(0);
    }
  }

  read(position: number, length: number): Buffer {
    const from = Math.max(position, this.#start);
    const to = Math.min(position + length, this.#end);
    const parts: Buffer[] = [];
    for (let index = this.#indexOf(from); index < this.#pieces.length; index++) {
      const { bytes, start } = this.#pieces.at(index) as Piece;
      if (start >= to) break;
      parts.push(bytes.subarray(Math.max(0, from - start), to - start));
    }
    return Buffer.concat(parts);
  }

  /** Returns a log with the same content, independent of this one. */
  fork(): ContainerLog {
    const fork = new ContainerLog();
    fork.#pieces = this.#pieces.fork();
    fork.#start = this.#start;
    fork.#end = this.#end;
    return fork;
  }

  /** The piece that has the position. */
  #indexOf(position: number): number {
    let low = 0;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { bytes, start } = this.#pieces.at(middle) as Piece;
      if (start + bytes.length <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
