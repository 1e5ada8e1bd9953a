// The protobuf wire format, as far as writing needs it: fields are made as bytes and joined to messages. Fields with a zero
// value make no bytes, as proto3 has it.

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

/** A message, or a part of one: its fields in the order given. */
export function message(...fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

/** A length-delimited field: a message or bytes. Written even if it is empty: an empty message is not an absent one. */
export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(value.length)]), value]);
}

export function stringField(number: number, value: string | undefined): Uint8Array {
  return value === undefined || value === '' ? EMPTY : bytesField(number, Buffer.from(value, 'utf8'));
}

export function stringsField(number: number, values: readonly string[] | undefined): Uint8Array {
  return values === undefined ? EMPTY : Buffer.concat(values.map((value) => bytesField(number, Buffer.from(value, 'utf8'))));
}

export function boolField(number: number, value: boolean | undefined): Uint8Array {
  return value === true ? Buffer.from([...varint(number * 8), 1]) : EMPTY;
}
