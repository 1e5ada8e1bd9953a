// Parses a query: strictly, in one pass, without following pointers. The order of the checks, and
// whether a message is dropped or gets an error, is that of the server library of CoreDNS.

import { skipName } from './names.ts';
import { CLASS_IN, FLAG, HEADER_LENGTH, RCODE, TYPE } from './types.ts';

export interface Query {
  readonly id: number;
  /** The second word of the header as it was received. */
  readonly flags: number;
  readonly type: number;
  /** The message. Its question begins at HEADER_LENGTH. */
  readonly message: Buffer;
  /** The end of the question: after its class. */
  readonly questionEnd: number;
  /** Absent: the client does not support EDNS. */
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** The largest UDP answer that the client accepts. */
  readonly udpSize: number;
  readonly dnssecOk: boolean;
}

/** A message that gets an error with a header alone, or no answer. */
export interface Rejection {
  /** undefined: the message is dropped. */
  readonly rcode: number | undefined;
  /** The query, if its question can be repeated in the answer. */
  readonly query: Query | undefined;
}

const DROP: Rejection = { rcode: undefined, query: undefined };
const MALFORMED: Rejection = { rcode: RCODE.FORMERR, query: undefined };
const NOT_IMPLEMENTED: Rejection = { rcode: RCODE.NOTIMP, query: undefined };

/**
 * The numbers of records besides the question that a query may carry, as in the server library of
 * CoreDNS.
 */
const MAX_ANSWERS = 1;
const MAX_AUTHORITIES = 1;
const MAX_ADDITIONALS = 2;

/** The size of type, class, TTL and data length. */
const RECORD_HEADER = 10;

export function isRejection(result: Query | Rejection): result is Rejection {
  return 'rcode' in result;
}

/** Parses a query. Never throws. */
export function parseQuery(message: Buffer): Query | Rejection {
  const end = message.length;
  if (end < HEADER_LENGTH) return DROP;
  const flags = word(message, 2);
  // An answer to an answer could loop for ever.
  if ((flags & FLAG.QR) !== 0) return DROP;
  if ((flags & 0x7800) !== 0) return NOT_IMPLEMENTED;
  const others = word(message, 6) + word(message, 8) + word(message, 10);
  if (
    word(message, 4) !== 1 ||
    word(message, 6) > MAX_ANSWERS ||
    word(message, 8) > MAX_AUTHORITIES
  )
    return MALFORMED;
  if (word(message, 10) > MAX_ADDITIONALS) return MALFORMED;
  const nameEnd = skipName(message, HEADER_LENGTH, end);
  // The first name has no earlier name to point to.
  if (nameEnd < 0 || nameEnd + 4 > end || message[nameEnd - 1] !== 0 || isPointer(message, nameEnd))
    return MALFORMED;
  const questionEnd = nameEnd + 4;
  let edns: Edns | undefined;
  let version = 0;
  let at = questionEnd;
  for (let i = 0; i < others; i++) {
    const owner = at;
    at = skipName(message, at, end);
    if (at < 0 || at + RECORD_HEADER > end) return MALFORMED;
    const next = at + RECORD_HEADER + word(message, at + 8);
    if (next > end) return MALFORMED;
    if (word(message, at) === TYPE.OPT) {
      if (edns !== undefined || message[owner] !== 0) return MALFORMED;
      version = message[at + 5]!;
      edns = {
        udpSize: word(message, at + 2),
        dnssecOk: (message[at + 6]! & 0x80) !== 0,
      };
    }
    at = next;
  }
  const query: Query = {
    id: word(message, 0),
    flags,
    type: word(message, nameEnd),
    message,
    questionEnd,
    edns,
  };
  if (word(message, nameEnd + 2) !== CLASS_IN) return { rcode: RCODE.REFUSED, query };
  if (version !== 0) return { rcode: RCODE.BADVERS, query };
  return query;
}

/**
 * Reports whether the name ends in a pointer. The byte before the end is 0 for a pointer to offset
 * 0 (mod 256), too, so the labels are walked.
 */
function isPointer(message: Buffer, nameEnd: number): boolean {
  let at = HEADER_LENGTH;
  while (at < nameEnd - 1) {
    const length = message[at]!;
    if (length >= 0xc0) return true;
    at += length + 1;
  }
  return false;
}

function word(message: Buffer, offset: number): number {
  return (message[offset]! << 8) | message[offset + 1]!;
}
