// The Huffman code of HPACK (RFC 7541, Appendix B). The code is canonical: it is made from the
// lengths of its symbols alone. Shorter codes come first, and codes of one length are in the order
// of their symbols.

/** The lengths in bits of the codes of the bytes 0 to 255. */
// prettier-ignore
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
  6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
  7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
  23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22,
  22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27,
  24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];
const LONGEST = 30;
/** Padding has at most this many bits, all of them ones. */
const MAX_PADDING = 7;

interface Level {
  /** The first code of this length. */
  readonly first: number;
  /** The bytes with codes of this length, in the order of their codes. */
  readonly symbols: readonly number[];
}

const levels: readonly Level[] = makeLevels();

function makeLevels(): Level[] {
  const made: Level[] = [];
  let code = 0;
  for (let length = 0; length <= LONGEST; length++) {
    const symbols = [...LENGTHS.keys()].filter((byte) => LENGTHS[byte] === length);
    made.push({ first: code, symbols });
    code = (code + symbols.length) * 2;
  }
  return made;
}

/** Returns the decoded text, one character for each byte. Throws Error for invalid codes. */
export function decodeHuffman(bytes: Uint8Array): string {
  let text = '';
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      length++;
      const { first, symbols } = levels[length]!;
      const symbol = symbols[code - first];
      if (symbol !== undefined) {
        text += String.fromCharCode(symbol);
        code = 0;
        length = 0;
      } else if (length === LONGEST) throw new Error('a header has an invalid Huffman code');
    }
  }
  if (length > MAX_PADDING || code !== 2 ** length - 1)
    throw new Error('a header ends within a Huffman code');
  return text;
}
