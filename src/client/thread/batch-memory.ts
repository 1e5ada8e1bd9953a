// The buffers of batches between threads. They go to and fro: the receiver of a batch transfers its
// buffer back when nothing reads it any more.
//
// V8 counts the bytes of ArrayBuffers of an isolate, and collects its whole heap whenever 64 MiB
// more of them exist than after the last collection (`external memory pressure` in --trace-gc),
// whatever the size of the heap. Buffers that became garbage in the receiver made such a collection
// for each 64 MiB of messages: of a heap of 7 GB, one after the other. A buffer that is transferred
// away does not count.

/** The least size of a buffer in bytes, as a power of two. */
const MIN_EXPONENT = 12;

export class BatchMemory {
  readonly #limit: number;
  /** By the exponent of their size. The sizes that were used last are at the end. */
  readonly #free = new Map<number, ArrayBuffer[]>();
  #keptBytes = 0;

  /** `keptBytes`: the size of all buffers that are kept for later batches, in bytes. */
  constructor(keptBytes: number) {
    this.#limit = keptBytes;
  }

  /** The size of the buffers that wait to be taken, in bytes. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Returns a buffer of at least so many bytes, with any content. */
  take(bytes: number): ArrayBuffer {
    const exponent = exponentOf(bytes);
    const free = this.#freeOf(exponent).pop();
    // Its own memory, not a piece of a pool: it is transferred.
    if (free === undefined) return Buffer.allocUnsafeSlow(2 ** exponent).buffer;
    this.#keptBytes -= free.byteLength;
    return free;
  }

  /**
   * Keeps a buffer that `take` has returned. Beyond the limit, buffers of the size that was not used
   * for the longest time are dropped.
   */
  keep(buffer: ArrayBuffer): void {
    this.#keptBytes += buffer.byteLength;
    this.#freeOf(exponentOf(buffer.byteLength)).push(buffer);
    for (const [exponent, free] of this.#free) {
      while (this.#keptBytes > this.#limit && free.length > 0)
        this.#keptBytes -= free.pop()!.byteLength;
      if (this.#keptBytes <= this.#limit) return;
      this.#free.delete(exponent);
    }
  }

  /** Returns the free buffers of a size, which is used now. */
  #freeOf(exponent: number): ArrayBuffer[] {
    const free = this.#free.get(exponent) ?? [];
    this.#free.delete(exponent);
    this.#free.set(exponent, free);
    return free;
  }
}

function exponentOf(bytes: number): number {
  return Math.max(MIN_EXPONENT, Math.ceil(Math.log2(bytes)));
}
