// Asks a server in this process, without a port.

import { decode, encode, type RecordType } from 'dns-packet';
import type { DnsServer } from './serving/dns-server.ts';
import { rcodeName } from './wire/types.ts';

/** The types of records that can be asked for. */
export type DnsRecordType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'NS' | 'PTR' | 'SOA' | 'SRV' | 'TXT';

/** A record of a response. `data`: an address or a name as text; an object for SRV, SOA and MX; bytes for TXT. */
export interface DnsRecord {
  readonly name: string;
  readonly type: string;
  /** In seconds. */
  readonly ttl?: number;
  readonly data?: unknown;
}

export interface Resolved {
  /** 'NOERROR', 'NXDOMAIN', 'SERVFAIL' … */
  readonly rcode: string;
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** Throws TypeError for a name or type that no question can have. */
export async function resolveWith(server: DnsServer, name: string, type: DnsRecordType): Promise<Resolved> {
  let query: Buffer;
  try {
    query = encode({ type: 'query', id: 1, flags: 0x0100, questions: [{ name, type: type satisfies RecordType }] });
  } catch (err) {
    throw new TypeError(`${JSON.stringify(name)} ${type} is no question: ${(err as Error).message}`, { cause: err });
  }
  const message = await server.ask(query);
  if (message === undefined) throw new TypeError(`${JSON.stringify(name)} is no name that can be asked for`);
  const { answers = [], additionals = [] } = decode(message);
  return {
    rcode: rcodeName(message.readUInt16BE(2) & 0xf),
    answers,
    additionals,
  };
}
