// Texts in which pieces are replaced, many times: the places are found once.

/** The replacement of each piece of text. */
export type Replacements = ReadonlyMap<string, string>;

export class TextTemplate {
  /** Texts that stay, with a piece that is replaced between any two of them. */
  readonly #parts: readonly string[];

  /** Where two pieces begin at the same place, the longer one is replaced. */
  constructor(text: string, pieces: readonly string[]) {
    const longestFirst = [...pieces].sort((a, b) => b.length - a.length).map(escaped);
    this.#parts = text.split(new RegExp(`(${longestFirst.join('|')})`));
  }

  /** Returns the text. There must be a replacement for each piece in it. */
  render(replacements: Replacements): string {
    const parts = this.#parts;
    let text = parts[0]!;
    for (let i = 1; i < parts.length; i += 2) {
      const replacement = replacements.get(parts[i]!);
      if (replacement === undefined) throw new Error(`nothing replaces ${parts[i]}`);
      text += replacement + parts[i + 1]!;
    }
    return text;
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** The value of a stored object (see the storage codec), whose pieces are replaced. */
export class StoredTemplate {
  readonly #key: TextTemplate;
  /** The bits of the header beside the offset. */
  readonly #flags: number;
  readonly #before: TextTemplate;
  readonly #after: TextTemplate;

  constructor(key: string, value: Uint8Array, pieces: readonly string[]) {
    const bytes = Buffer.from(value);
    const header = bytes.readUInt32BE();
    const offset = header & OFFSET_BITS;
    const split = HEADER_BYTES + offset;
    this.#key = new TextTemplate(key, pieces);
    this.#flags = (header & ~OFFSET_BITS) >>> 0;
    this.#before = new TextTemplate(bytes.toString('utf8', HEADER_BYTES, split), pieces);
    this.#after = new TextTemplate(bytes.toString('utf8', split), pieces);
  }

  render(replacements: Replacements): { readonly key: string; readonly value: Buffer } {
    const before = this.#before.render(replacements);
    const value = Buffer.from(`\0\0\0\0${before}${this.#after.render(replacements)}`);
    value.writeUInt32BE((this.#flags | Buffer.byteLength(before)) >>> 0);
    return { key: this.#key.render(replacements), value };
  }
}

const HEADER_BYTES = 4;
const OFFSET_BITS = 0x7fffffff;
