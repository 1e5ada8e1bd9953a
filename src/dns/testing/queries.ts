// Encodes queries and decodes answers as clients do, with dns-packet.

import { decode, encode, type Answer, type DecodedPacket, type RecordType } from 'dns-packet';

export interface QueryOptions {
  readonly id?: number;
  readonly udpSize?: number;
  readonly dnssecOk?: boolean;
}

export function query(
  name: string,
  type: RecordType,
  { id = 1, udpSize, dnssecOk = false }: QueryOptions = {},
): Buffer {
  const opt = {
    name: '.',
    type: 'OPT',
    udpPayloadSize: udpSize ?? 0,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: dnssecOk ? 0x8000 : 0,
    flag_do: dnssecOk,
    options: [],
  } as const;
  return encode({
    type: 'query',
    id,
    flags: 0x0100,
    questions: [{ name, type }],
    additionals: udpSize === undefined ? [] : [{ ...opt, options: [] }],
  });
}

export interface Read {
  readonly id: number;
  readonly rcode: string;
  readonly truncated: boolean;
  readonly authoritative: boolean;
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly additionals: readonly string[];
}

/** Returns an answer with its records as text: 'name TTL TYPE data'. */
export function read(message: Buffer): Read {
  const packet = decode(message) as DecodedPacket & { rcode: string };
  const text = (records: readonly Answer[] | undefined): string[] =>
    (records ?? []).map(recordText);
  return {
    id: packet.id ?? -1,
    rcode: packet.rcode,
    truncated: (message.readUInt16BE(2) & 0x0200) !== 0,
    authoritative: (message.readUInt16BE(2) & 0x0400) !== 0,
    answers: text(packet.answers),
    authorities: text(packet.authorities),
    additionals: text(packet.additionals),
  };
}

function recordText(record: Answer): string {
  if (record.type === 'OPT') return `OPT ${record.udpPayloadSize}${record.flag_do ? ' do' : ''}`;
  const { name, type, ttl, data } = record as {
    name: string;
    type: string;
    ttl: number;
    data: unknown;
  };
  if (type === 'SRV') {
    const { priority, weight, port, target } = data as Record<string, unknown>;
    return `${name} ${ttl} SRV ${String(priority)} ${String(weight)} ${String(port)} ${String(target)}`;
  }
  if (type === 'SOA') return `${name} ${ttl} SOA`;
  if (type === 'TXT') return `${name} ${ttl} TXT ${(data as Buffer[]).map(String).join(' ')}`;
  return `${name} ${ttl} ${type} ${String(data)}`;
}

export interface AnswerOptions {
  readonly rcode?: number;
  readonly answers?: readonly Answer[];
  readonly authorities?: readonly Answer[];
  readonly truncated?: boolean;
  readonly id?: number;
}

/** Returns an upstream server's answer to a query. */
export function answerTo(
  message: Buffer,
  { rcode = 0, answers = [], authorities = [], truncated = false, id }: AnswerOptions,
): Buffer {
  const { id: own = 0, questions = [] } = decode(message);
  return encode({
    type: 'response',
    id: id ?? own,
    flags: 0x0180 | (truncated ? 0x0200 : 0) | rcode,
    questions,
    answers: [...answers],
    authorities: [...authorities],
  });
}
