// A response of the DNS server, for programs in this process.

/** The record types of a question. */
export type DnsRecordType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'NS' | 'PTR' | 'SOA' | 'SRV' | 'TXT';

/**
 * A record of a response. `data`: an address or a name as text; an object for SRV, SOA and MX;
 * bytes for TXT.
 */
export interface DnsRecord {
  readonly name: string;
  readonly type: string;
  /** The TTL in seconds. */
  readonly ttl?: number;
  readonly data?: unknown;
}

export interface Resolved {
  /** The response code: 'NOERROR', 'NXDOMAIN', 'SERVFAIL' … */
  readonly rcode: string;
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}
