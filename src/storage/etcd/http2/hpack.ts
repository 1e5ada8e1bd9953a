// Header blocks of HTTP/2 (HPACK, RFC 7541) without a dynamic table: the client announces a table of
// size 0 to its peer, and uses none itself. So each block can be read on its own, and equal blocks
// have equal bytes. The responses of a server of gRPC are nearly always equal: they are decoded once.

import { decodeHuffman } from './huffman.ts';

export type Field = readonly [name: string, value: string];

/** The static table, from index 1. */
const STATIC: readonly Field[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  ...['200', '204', '206', '304', '400', '404', '500'].map((code): Field => [':status', code]),
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...[
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization',
    'cache-control content-disposition content-encoding content-language content-length',
    'content-location content-range content-type cookie date etag expect expires from host',
    'if-match if-modified-since if-none-match if-range if-unmodified-since last-modified link',
    'location max-forwards proxy-authenticate proxy-authorization range referer refresh',
    'retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary via',
    'www-authenticate',
  ]
    .flatMap((names) => names.split(' '))
    .map((name): Field => [name, '']),
];

const INDEXED = 0x80;
const WITH_INDEXING = 0x40;
const TABLE_SIZE = 0x20;
const HUFFMAN = 0x80;
const MAX_INTEGER_BITS = 28;
/** Blocks that are remembered, and the maximum length of each of them. */
const REMEMBERED = 64;
const REMEMBERED_BYTES = 256;

/** Returns a block of literal fields, whose strings are not compressed. */
export function encodeFields(fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields)
    parts.push(Buffer.from([0]), encodeString(name), encodeString(value));
  return Buffer.concat(parts);
}

function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** Decodes the blocks of one connection, and remembers short ones. */
export class FieldDecoder {
  readonly #remembered = new Map<string, readonly Field[]>();

  /** Returns the fields of a block. Throws Error for a block that is invalid, or needs a table. */
  decode(block: Buffer): readonly Field[] {
    if (block.length > REMEMBERED_BYTES) return decodeFields(block);
    const key = block.toString('latin1');
    const present = this.#remembered.get(key);
    if (present !== undefined) return present;
    const fields = decodeFields(block);
    if (this.#remembered.size < REMEMBERED) this.#remembered.set(key, fields);
    return fields;
  }
}

/** Returns the fields of a block. Throws Error for a block that is invalid, or needs a table. */
export function decodeFields(block: Buffer): readonly Field[] {
  const reader = new BlockReader(block);
  const fields: Field[] = [];
  while (!reader.isAtEnd) {
    const first = reader.peek();
    if ((first & INDEXED) !== 0) fields.push(staticField(reader.integer(7)));
    else if ((first & WITH_INDEXING) !== 0) fields.push(reader.literal(6));
    else if ((first & TABLE_SIZE) !== 0) {
      if (reader.integer(5) !== 0) throw new Error('a header block sets the size of a table');
    } else fields.push(reader.literal(4));
  }
  return fields;
}

function staticField(index: number): Field {
  const field = STATIC[index - 1];
  if (field === undefined) throw new Error(`a header block refers to entry ${index} of a table`);
  return field;
}

class BlockReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new Error('a header block ends early');
    return byte;
  }

  /** Reads an integer whose first byte has this many bits of it. */
  integer(prefixBits: number): number {
    const full = (1 << prefixBits) - 1;
    let value = this.#next() & full;
    if (value < full) return value;
    for (let shift = 0; shift < MAX_INTEGER_BITS; shift += 7) {
      const byte = this.#next();
      value += (byte & 127) << shift;
      if ((byte & 128) === 0) return value;
    }
    throw new Error('a header block has an integer that is too large');
  }

  /** Reads a literal field. `prefixBits`: those of the index of its name. */
  literal(prefixBits: number): Field {
    const index = this.integer(prefixBits);
    const name = index === 0 ? this.#string() : staticField(index)[0];
    return [name, this.#string()];
  }

  #string(): string {
    const isHuffman = (this.peek() & HUFFMAN) !== 0;
    const end = this.integer(7) + this.#at;
    if (end > this.#block.length) throw new Error('a header block ends early');
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isHuffman ? decodeHuffman(bytes) : bytes.toString('latin1');
  }

  #next(): number {
    const byte = this.peek();
    this.#at++;
    return byte;
  }
}
