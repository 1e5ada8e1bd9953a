// Writes the protobuf wire format: fields are encoded as bytes and concatenated to messages. As in
// proto3, a field with the zero value takes no bytes.

const EMPTY: Uint8Array = new Uint8Array(0);

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return bytes;
}

/** Returns a message, or a part of one: its fields in the given order. */
export function message(...fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

/**
 * Returns a length-delimited field: a message or bytes. An empty value is written, too: an empty
 * message differs from an absent one.
 */
export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return Buffer.concat([bytesFieldStart(number, value.length), value]);
}

/**
 * Returns the bytes before a length-delimited field whose value is written elsewhere. `length`:
 * bytes of the value.
 */
export function bytesFieldStart(number: number, length: number): Uint8Array {
  return Buffer.from([...varint(number * 8 + 2), ...varint(length)]);
}

export function stringField(number: number, value: string | undefined): Uint8Array {
  return value === undefined || value === ''
    ? EMPTY
    : bytesField(number, Buffer.from(value, 'utf8'));
}

export function stringsField(number: number, values: readonly string[] | undefined): Uint8Array {
  return values === undefined
    ? EMPTY
    : Buffer.concat(values.map((value) => bytesField(number, Buffer.from(value, 'utf8'))));
}

export function boolField(number: number, value: boolean | undefined): Uint8Array {
  return value === true ? Buffer.from([...varint(number * 8), 1]) : EMPTY;
}

/** Returns a varint field. `value`: an int64 in the range of safe integers. */
export function integerField(number: number, value: number | undefined): Uint8Array {
  if (value === undefined || value === 0) return EMPTY;
  return Buffer.from([...varint(number * 8), ...(value > 0 ? varint(value) : negative(value))]);
}

export function doubleField(number: number, value: number | undefined): Uint8Array {
  if (value === undefined || value === 0) return EMPTY;
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.from([...varint(number * 8 + 1), ...bytes]);
}

/** Encodes a negative number as the uint64 with the same bits. */
function negative(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return bytes;
}
