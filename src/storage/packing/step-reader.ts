// Applies differences to their model (see differences.ts).

/** Fewer bytes than this are copied one by one, which costs less than a view. */
const SHORT_COPY = 48;

/**
 * Writes the beginning of the value of which these are the differences into `target`, as much as it
 * has room for.
 */
export function applyDifferences(differences: string, model: Uint8Array, target: Uint8Array): void {
  const end = target.length;
  const reader = new StepReader(differences);
  let at = 0;
  let from = 0;
  while (at < end) {
    at = reader.bytes(target, at, reader.number());
    if (at === end) return;
    const count = reader.number();
    const distance = reader.number();
    from += (distance >>> 1) ^ -(distance & 1);
    copy(model, from, target, at, Math.min(count, end - at));
    let replaced = at;
    for (let length = reader.number(); length !== 0; length = reader.number()) {
      replaced += reader.number();
      // The rest is not needed.
      if (replaced >= end) return;
      replaced = reader.bytes(target, replaced, length);
    }
    from += count;
    at += count;
  }
}

class StepReader {
  readonly #text: string;
  #read = 0;

  constructor(text: string) {
    this.#text = text;
  }

  number(): number {
    let byte = this.#text.charCodeAt(this.#read++);
    let value = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      byte = this.#text.charCodeAt(this.#read++);
      value |= (byte & 0x7f) << shift;
    }
    return value;
  }

  /** Writes the next `count` bytes at `at`, as far as there is room. Returns where they end. */
  bytes(target: Uint8Array, at: number, count: number): number {
    const end = Math.min(target.length, at + count);
    const text = this.#text;
    let read = this.#read;
    for (let i = at; i < end; i++) target[i] = text.charCodeAt(read++);
    this.#read = read;
    return end;
  }
}

function copy(from: Uint8Array, start: number, to: Uint8Array, at: number, count: number): void {
  if (count < SHORT_COPY) for (let i = 0; i < count; i++) to[at + i] = from[start + i]!;
  else to.set(from.subarray(start, start + count), at);
}
