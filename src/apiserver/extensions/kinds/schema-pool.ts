// The compiled schemas of custom kinds. A compiled schema takes about eight times the memory of its text, and most definitions are idle: a
// schema is compiled when it is first needed, and those that have not been used for longest go when there are too many.

import type { StructuralCodec } from '#api/machinery/codec/structural/index.ts';

const DEFAULT_LIMIT_BYTES = 4 * 1024 * 1024;

interface Compiled {
  readonly codec: StructuralCodec;
  readonly bytes: number;
}

/** Shared by all custom kinds of a server. */
export class SchemaPool {
  readonly #limitBytes: number;
  /** By owner; the last one was used last. */
  readonly #compiled = new Map<object, Compiled>();
  #bytes = 0;

  /** `limitBytes`: of the texts of compiled schemas, at most, but for one that is larger by itself. Default: 4 MiB. */
  constructor({ limitBytes = DEFAULT_LIMIT_BYTES }: { readonly limitBytes?: number } = {}) {
    this.#limitBytes = limitBytes;
  }

  /** How many compiled schemas there are. */
  get size(): number {
    return this.#compiled.size;
  }

  /** Returns the codec that is kept under `owner`, or makes and keeps it. `bytesOf`: returns the length of the schema's text. */
  codecOf(owner: object, bytesOf: () => number, make: () => StructuralCodec): StructuralCodec {
    const found = this.#compiled.get(owner);
    if (found !== undefined) {
      this.#compiled.delete(owner);
      this.#compiled.set(owner, found);
      return found.codec;
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
