// The part of DER (X.690) that certificate requests need: nested values with a tag and a length.
//
// The parser is strict: each value has exactly one encoding. Accepted bytes are copied into
// certificates, and other parsers must not find something else in them.

export interface Der {
  readonly tag: number;
  /** The value alone. */
  readonly value: Buffer;
  /** Tag, length and value. */
  readonly whole: Buffer;
}

export class DerError extends Error {}

/** Returns the only value in the bytes. Throws DerError if there is none, or if data follows it. */
export function readDer(bytes: Buffer): Der {
  const [first, ...more] = readAll(bytes);
  if (first === undefined || more.length > 0)
    throw new DerError('asn1: syntax error: trailing data');
  return first;
}

/** Returns the values inside a constructed value. */
export function childrenOf({ value }: Der): readonly Der[] {
  return readAll(value);
}

function readAll(bytes: Buffer): readonly Der[] {
  const values: Der[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at]!;
    if ((tag & 0x1f) === 0x1f)
      throw new DerError('asn1: structure error: base 128 integer too large');
    const { length, start } = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) throw new DerError('asn1: syntax error: data truncated');
    values.push({ tag, value: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

function readLength(
  bytes: Buffer,
  at: number,
): { readonly length: number; readonly start: number } {
  const first = bytes[at];
  if (first === undefined) throw new DerError('asn1: syntax error: truncated tag or length');
  if (first < 0x80) return { length: first, start: at + 1 };
  const count = first & 0x7f;
  if (count === 0) throw new DerError('asn1: syntax error: indefinite length found (not DER)');
  if (count > 4) throw new DerError('asn1: structure error: length too large');
  if (at + 1 + count > bytes.length)
    throw new DerError('asn1: syntax error: truncated tag or length');
  if (bytes[at + 1] === 0)
    throw new DerError('asn1: structure error: superfluous leading zeros in length');
  const length = bytes.readUIntBE(at + 1, count);
  if (length < 0x80) throw new DerError('asn1: structure error: non-minimal length');
  return { length, start: at + 1 + count };
}
