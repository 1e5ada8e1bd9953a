// Reads the parts of an upstream server's answer that are needed to check, cache and forward it,
// without decoding the records.

import { skipName } from '../wire/names.ts';
import { FLAG, HEADER_LENGTH, TYPE } from '../wire/types.ts';

export interface Skimmed {
  readonly flags: number;
  readonly rcode: number;
  readonly questionEnd: number;
  /**
   * The end of the records to forward: OPT and what follows belong to the connection with the
   * upstream server.
   */
  readonly recordsEnd: number;
  readonly counts: readonly [answers: number, authorities: number, additionals: number];
  /** The offsets of the TTLs. */
  readonly ttlOffsets: readonly number[];
  /**
   * How long the answer may be cached, in seconds, by its TTLs and, for a negative answer, its SOA
   * record. 0: not at all.
   */
  readonly ttl: number;
}

/** A message of 64 KB has no room for more records. */
const MAX_RECORDS = 6000;

/**
 * Returns undefined if the message is not a well-formed answer to the question.
 *
 * @param question the question's bytes; letters may differ in case
 */
export function skim(message: Buffer, id: number, question: Buffer): Skimmed | undefined {
  const questionEnd = HEADER_LENGTH + question.length;
  if (message.length < questionEnd) return undefined;
  const flags = message.readUInt16BE(2);
  if (message.readUInt16BE(0) !== id || (flags & FLAG.QR) === 0 || (flags & 0x7800) !== 0)
    return undefined;
  if (message.readUInt16BE(4) !== 1 || !sameQuestion(message, question)) return undefined;
  const sections = [
    message.readUInt16BE(6),
    message.readUInt16BE(8),
    message.readUInt16BE(10),
  ] as const;
  if (sections[0] + sections[1] + sections[2] > MAX_RECORDS) return undefined;
  const counts: [number, number, number] = [0, 0, 0];
  const ttlOffsets: number[] = [];
  let ttl = Number.POSITIVE_INFINITY;
  let soaTtl: number | undefined;
  let at = questionEnd;
  let recordsEnd: number | undefined;
  for (const [section, count] of sections.entries()) {
    for (let i = 0; i < count; i++) {
      const start = at;
      at = skipName(message, at, message.length);
      if (at < 0 || at + 10 > message.length) return undefined;
      const type = message.readUInt16BE(at);
      const end = at + 10 + message.readUInt16BE(at + 8);
      if (end > message.length) return undefined;
      if (type === TYPE.OPT) recordsEnd ??= start;
      if (recordsEnd === undefined) {
        const recordTtl = ttlAt(message, at + 4);
        ttlOffsets.push(at + 4);
        ttl = Math.min(ttl, recordTtl);
        if (type === TYPE.SOA && section === 1 && end - at >= 30)
          soaTtl = Math.min(recordTtl, ttlAt(message, end - 4));
        counts[section as 0 | 1 | 2]++;
      }
      at = end;
    }
  }
  const rcode = flags & 0xf;
  const negative = counts[0] === 0;
  return {
    flags,
    rcode,
    questionEnd,
    recordsEnd: recordsEnd ?? at,
    counts,
    ttlOffsets,
    ttl: negative ? (soaTtl ?? 0) : ttl,
  };
}

/** A TTL with its highest bit set counts as 0 (RFC 2181). */
function ttlAt(message: Buffer, offset: number): number {
  const ttl = message.readUInt32BE(offset);
  return ttl > 0x7fffffff ? 0 : ttl;
}

function sameQuestion(message: Buffer, question: Buffer): boolean {
  for (let i = 0; i < question.length; i++) {
    const a = message[HEADER_LENGTH + i]!;
    const b = question[i]!;
    // Type and class, the last four bytes, have no case.
    if (a !== b && (i >= question.length - 4 || lower(a) !== lower(b))) return false;
  }
  return true;
}

const lower = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte);
