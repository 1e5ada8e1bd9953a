// Encodes answers. Hand-written, because dns-packet takes several times as long (see bench/dns) and
// this layer mostly encodes answers. Tests decode the result with dns-packet as the oracle.

import type { Labels } from './names.ts';
import type { Query } from './query.ts';
import type { ResourceRecord, Sections } from './records.ts';
import { FLAG, HEADER_LENGTH, MAX_MESSAGE_LENGTH } from './types.ts';

/**
 * The largest UDP answer, even if the client accepts more: it fits one packet on every common link
 * (DNS flag day 2020).
 */
export const MAX_UDP_SIZE = 1232;

/** An OPT record without options: root, type, size, version and flags, no data. */
export const OPT_LENGTH = 11;

/** The largest offset of a pointer: it has 14 bits. */
const MAX_POINTER = 0x3fff;

/** The body of an answer: everything after the question, for any query with the same question. */
export interface EncodedBody {
  readonly bytes: Buffer;
  readonly counts: readonly [answers: number, authorities: number, additionals: number];
  /** Some records did not fit. */
  readonly truncated: boolean;
}

/** Returns a header, the question if the query has one, and an OPT record if it has one. */
export function encodeError(message: Buffer, rcode: number, query: Query | undefined): Buffer {
  if (query !== undefined) return encodeResponse(query, { rcode, flags: 0, body: EMPTY_BODY });
  const out = Buffer.alloc(HEADER_LENGTH);
  out[0] = message[0]!;
  out[1] = message[1]!;
  // Opcode and RD are copied from the query.
  out.writeUInt16BE(FLAG.QR | (message.readUInt16BE(2) & 0x7900) | rcode, 2);
  return out;
}

export const EMPTY_BODY: EncodedBody = {
  bytes: Buffer.alloc(0),
  counts: [0, 0, 0],
  truncated: false,
};

export interface Response {
  readonly rcode: number;
  readonly flags: number;
  readonly body: EncodedBody;
  /**
   * Rotating records of equal size at the beginning of the body: `count` of them, beginning with
   * the one at `first`.
   */
  readonly rotation?: { readonly size: number; readonly count: number; readonly first: number };
}

/**
 * Returns the whole message. The question is the query's own bytes, so that its case is preserved.
 */
export function encodeResponse(query: Query, { rcode, flags, body, rotation }: Response): Buffer {
  const { message, questionEnd, edns } = query;
  const { bytes, counts } = body;
  const out = Buffer.allocUnsafe(
    questionEnd + bytes.length + (edns === undefined ? 0 : OPT_LENGTH),
  );
  const word =
    FLAG.QR |
    flags |
    (query.flags & (FLAG.RD | FLAG.CD)) |
    (body.truncated ? FLAG.TC : 0) |
    (rcode & 0xf);
  out[0] = query.id >>> 8;
  out[1] = query.id & 255;
  out[2] = word >>> 8;
  out[3] = word & 255;
  out[4] = 0;
  out[5] = 1;
  out[6] = counts[0] >>> 8;
  out[7] = counts[0] & 255;
  out[8] = counts[1] >>> 8;
  out[9] = counts[1] & 255;
  const additionals = counts[2] + (edns === undefined ? 0 : 1);
  out[10] = additionals >>> 8;
  out[11] = additionals & 255;
  message.copy(out, HEADER_LENGTH, HEADER_LENGTH, questionEnd);
  if (rotation === undefined) {
    out.set(bytes, questionEnd);
  } else {
    const split = rotation.first * rotation.size;
    const end = rotation.count * rotation.size;
    bytes.copy(out, questionEnd, split, end);
    bytes.copy(out, questionEnd + end - split, 0, split);
    bytes.copy(out, questionEnd + end, end);
  }
  if (edns !== undefined) writeOpt(out, questionEnd + bytes.length, rcode, edns.dnssecOk);
  return out;
}

/**
 * Writes the server's own OPT record: the size that it takes, version 0, and the client's DO bit.
 */
export function writeOpt(out: Buffer, at: number, rcode: number, dnssecOk: boolean): void {
  out[at] = 0;
  out[at + 1] = 0;
  out[at + 2] = 41;
  out.writeUInt16BE(MAX_UDP_SIZE, at + 3);
  out[at + 5] = rcode >>> 4;
  out[at + 6] = 0;
  out[at + 7] = dnssecOk ? 0x80 : 0;
  out[at + 8] = 0;
  out[at + 9] = 0;
  out[at + 10] = 0;
}

/**
 * Encodes the records of a message for a question. Records that do not fit are left out whole, the
 * additional ones first, and `truncated` is then true.
 *
 * @param question the labels of the question in their own case: names compress only where their
 * case is the same @param questionEnd where the question ends in the message @param limit the most
 * bytes of the body
 */
export function encodeBody(
  message: Sections,
  question: Labels,
  questionEnd: number,
  limit: number,
): EncodedBody {
  const writer = new BodyWriter(
    question,
    questionEnd,
    Math.min(limit, MAX_MESSAGE_LENGTH - questionEnd),
  );
  const counts: [number, number, number] = [0, 0, 0];
  for (const [section, records] of [
    message.answers,
    message.authorities,
    message.additionals,
  ].entries()) {
    for (const record of records) {
      if (!writer.record(record)) return { bytes: writer.bytes(), counts, truncated: true };
      counts[section as 0 | 1 | 2]++;
    }
  }
  return { bytes: writer.bytes(), counts, truncated: false };
}

const FIRST_SIZE = 256;

class BodyWriter {
  readonly #start: number;
  readonly #limit: number;
  /** Names in the message, with their offsets. */
  readonly #names = new Map<string, number>();
  #buffer: Buffer = Buffer.allocUnsafe(FIRST_SIZE);
  #at = 0;

  constructor(question: Labels, questionEnd: number, limit: number) {
    this.#start = questionEnd;
    this.#limit = limit;
    let offset = HEADER_LENGTH;
    for (let i = 0; i < question.length; i++) {
      this.#names.set(keyOf(question, i), offset);
      offset += question[i]!.length + 1;
    }
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  /** Writes a record. Returns false if it does not fit; then nothing of it is written. */
  record(record: ResourceRecord): boolean {
    const before = this.#at;
    if (record.owner === undefined) this.#word(0xc000 | HEADER_LENGTH);
    else this.#name(record.owner);
    this.#word(record.type);
    this.#word(1);
    this.#long(record.ttl);
    const lengthAt = this.#at;
    this.#word(0);
    this.#data(record);
    this.#buffer.writeUInt16BE(this.#at - lengthAt - 2, lengthAt);
    if (this.#at <= this.#limit) return true;
    // The names of this record stay in the map, but nothing is written after it.
    this.#at = before;
    return false;
  }

  #data({ data }: ResourceRecord): void {
    if ('address' in data) this.#bytes(data.address);
    else if ('port' in data) {
      this.#word(data.priority);
      this.#word(data.weight);
      this.#word(data.port);
      // RFC 2782 forbids compression here.
      this.#plainName(data.target);
    } else if ('target' in data) this.#name(data.target);
    else if ('texts' in data) {
      for (const text of data.texts) {
        const bytes = Buffer.from(text).subarray(0, 255);
        this.#bytes(Uint8Array.of(bytes.length));
        this.#bytes(bytes);
      }
    } else if ('primary' in data) {
      this.#name(data.primary);
      this.#name(data.mailbox);
      for (const number of data.numbers) this.#long(number);
    } else this.#bytes(data.bytes);
  }

  /**
   * Writes the labels up to the longest suffix that is in the message already, and a pointer to
   * that suffix.
   */
  #name(labels: Labels): void {
    for (const [i, label] of labels.entries()) {
      const key = keyOf(labels, i);
      const present = this.#names.get(key);
      if (present !== undefined) return this.#word(0xc000 | present);
      const offset = this.#start + this.#at;
      if (offset <= MAX_POINTER) this.#names.set(key, offset);
      this.#label(label);
    }
    this.#bytes(ROOT);
  }

  #plainName(labels: Labels): void {
    for (const label of labels) this.#label(label);
    this.#bytes(ROOT);
  }

  #label(label: string): void {
    this.#room(label.length + 1);
    this.#buffer[this.#at++] = label.length;
    this.#at += this.#buffer.write(label, this.#at, 'latin1');
  }

  #word(value: number): void {
    this.#room(2);
    this.#at = this.#buffer.writeUInt16BE(value, this.#at);
  }

  #long(value: number): void {
    this.#room(4);
    this.#at = this.#buffer.writeUInt32BE(value >>> 0, this.#at);
  }

  #bytes(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #room(length: number): void {
    if (this.#at + length <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + length));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

const ROOT = Uint8Array.of(0);

/**
 * Joins labels with a separator that keeps labels with a dot distinct: no label has a character
 * above 0xff.
 */
const keyOf = (labels: Labels, from: number): string =>
  (from === 0 ? labels : labels.slice(from)).join('\u0100');
