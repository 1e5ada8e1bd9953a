// Writes the steps of differences (see differences.ts).

/** The most bytes of a number, of which the values here have at most three times seven bits. */
const NUMBER_BYTES = 3;
/** A copy that begins where the last one would go on is replaced in, up to so many bytes. */
const MAX_REPLACED = 512;

/** The steps that are being written: one buffer is enough for all, one after the other. */
let scratch = Buffer.allocUnsafeSlow(4096);

export class StepWriter {
  readonly #value: Uint8Array;
  readonly #limit: number;
  #length = 0;
  /** The copies so far of the step that is not written yet: at, from, count of each. */
  readonly #copies: number[] = [];
  /** The place in the value, and in the model, after the last copy. */
  #at = 0;
  #from = 0;
  /** The place in the value, and in the model, after the last step that is written. */
  #writtenAt = 0;
  #writtenFrom = 0;
  /** An upper bound of the bytes of the step that is not written yet. */
  #pending = 0;

  /** `limit`: the most bytes of the differences. */
  constructor(value: Uint8Array, limit: number) {
    this.#value = value;
    this.#limit = limit;
    if (scratch.length < limit) scratch = Buffer.allocUnsafeSlow(2 * limit);
  }

  /** Reports whether there is no room if the value from the last copy up to `at` is literal. */
  isFull(at: number): boolean {
    return this.#length + this.#pending + at - this.#at + 2 * NUMBER_BYTES > this.#limit;
  }

  /** Adds `count` bytes at `at` in the value that are at `from` in the model. */
  copy(at: number, from: number, count: number): void {
    const gap = at - this.#at;
    const isAligned = this.#copies.length > 0 && from - this.#from === gap && gap <= MAX_REPLACED;
    if (!isAligned) this.#writeStep();
    this.#copies.push(at, from, count);
    this.#pending += gap + (isAligned ? 2 : 4) * NUMBER_BYTES;
    this.#at = at + count;
    this.#from = from + count;
  }

  /** Returns the differences; undefined if they are too long. */
  end(): string | undefined {
    const { length } = this.#value;
    if (this.isFull(length)) return undefined;
    this.#writeStep();
    if (this.#writtenAt < length) this.#literals(this.#writtenAt, length);
    return scratch.toString('latin1', 0, this.#length);
  }

  #writeStep(): void {
    const copies = this.#copies;
    if (copies.length === 0) return;
    const [at, from] = [copies[0]!, copies[1]!];
    this.#literals(this.#writtenAt, at);
    this.#number(this.#at - at);
    const distance = from - this.#writtenFrom;
    this.#number((distance << 1) ^ (distance >> 31));
    for (let i = 3; i < copies.length; i += 3) {
      const [before, count, next] = [copies[i - 3]!, copies[i - 1]!, copies[i]!];
      this.#number(next - before - count);
      this.#number(count);
      this.#bytes(before + count, next);
    }
    this.#number(0);
    copies.length = 0;
    this.#pending = 0;
    this.#writtenAt = this.#at;
    this.#writtenFrom = this.#from;
  }

  #literals(start: number, end: number): void {
    this.#number(end - start);
    this.#bytes(start, end);
  }

  #bytes(start: number, end: number): void {
    for (let i = start; i < end; i++) scratch[this.#length++] = this.#value[i]!;
  }

  #number(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) scratch[this.#length++] = (rest & 0x7f) | 0x80;
    scratch[this.#length++] = rest;
  }
}
