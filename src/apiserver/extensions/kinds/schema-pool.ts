// The compiled schemas of custom kinds. A compiled schema takes about eight times the memory of its
// text, and most definitions are idle. So a schema is compiled when it is first needed, and the
// least recently used ones are evicted when there are too many.

import type { StructuralCodec } from '#api/machinery/codec/structural/index.ts';

const DEFAULT_LIMIT_BYTES = 4 * 1024 * 1024;

interface Compiled {
  readonly codec: StructuralCodec;
  readonly bytes: number;
}

/** Shared by all custom kinds of a server. */
export class SchemaPool {
  readonly #limitBytes: number;
  /** Compiled schemas by owner, the least recently used first. */
  readonly #compiled = new Map<object, Compiled>();
  #bytes = 0;

  /**
   * Creates the pool. `limitBytes`: the maximum total length of the texts of compiled schemas (a
   * single longer one is kept alone). Default: 4 MiB.
   */
  constructor({ limitBytes = DEFAULT_LIMIT_BYTES }: { readonly limitBytes?: number } = {}) {
    this.#limitBytes = limitBytes;
  }

  /** The number of compiled schemas. */
  get size(): number {
    return this.#compiled.size;
  }

  /**
   * Returns the codec of `owner`, or creates and keeps it. `bytesOf`: returns the length of the
   * schema's text.
   */
  codecOf(owner: object, bytesOf: () => number, make: () => StructuralCodec): StructuralCodec {
    const compiled = this.#compiled.get(owner);
    if (compiled !== undefined) {
      this.#compiled.delete(owner);
      this.#compiled.set(owner, compiled);
      return compiled.codec;
    }
    const codec = make();
    const bytes = bytesOf();
    this.#compiled.set(owner, { codec, bytes });
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#compiled) {
      if (this.#bytes <= this.#limitBytes || oldest === owner) break;
      this.#compiled.delete(oldest);
      this.#bytes -= freed;
    }
    return codec;
  }
}
