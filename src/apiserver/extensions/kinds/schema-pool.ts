// The compiled schemas of custom kinds. A compiled schema takes many times the memory of its text, and most definitions are idle: a
// schema is compiled when it is first needed, and those that have not been used for longest go when there are too many.

import type { StructuralCodec } from '#api/machinery/codec/structural/index.ts';
import { LruCache } from '#machinery/collections/lru.ts';

const DEFAULT_CAPACITY = 256;

/** Shared by all custom kinds of a server. */
export class SchemaPool {
  readonly #codecs: LruCache<object, StructuralCodec>;

  /** `capacity`: compiled schemas, at most. Default: 256. */
  constructor({ capacity = DEFAULT_CAPACITY }: { readonly capacity?: number } = {}) {
    this.#codecs = new LruCache({ capacity });
  }

  /** Returns the codec that is kept under `owner`, or makes and keeps it. */
  codecOf(owner: object, make: () => StructuralCodec): StructuralCodec {
    let codec = this.#codecs.get(owner);
    if (codec === undefined) {
      codec = make();
      this.#codecs.set(owner, codec);
    }
    return codec;
  }
}
