// The numbers of the DNS protocol that this server knows by name (IANA's registries).

export const TYPE = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

export const CLASS_IN = 1;

export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  /** Needs EDNS: its upper bits are in the OPT record. */
  BADVERS: 16,
} as const;

/** Bits of the second 16-bit word of a header. */
export const FLAG = {
  QR: 0x8000,
  AA: 0x0400,
  TC: 0x0200,
  RD: 0x0100,
  RA: 0x0080,
  AD: 0x0020,
  CD: 0x0010,
} as const;

export const HEADER_LENGTH = 12;
/** The longest name on the wire, its last (empty) label included. */
export const MAX_NAME_LENGTH = 255;
export const MAX_LABEL_LENGTH = 63;
/** The size of an answer by UDP that every client takes. */
export const MIN_UDP_SIZE = 512;
/** The largest message by TCP: its length has two bytes. */
export const MAX_MESSAGE_LENGTH = 65_535;

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(TYPE).map(([name, value]) => [value, name]),
);
const RCODE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(RCODE).map(([name, value]) => [value, name]),
);

/**
 * Returns the name of a record type for metrics: 'other' for a type that this server has no name
 * for, so that the set is closed.
 */
export function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? 'other';
}

/** Returns the name of a response code; 'other' if it has none here. */
export function rcodeName(rcode: number): string {
  return RCODE_NAMES.get(rcode) ?? 'other';
}
