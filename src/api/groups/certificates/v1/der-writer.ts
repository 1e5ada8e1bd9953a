// Writes DER (X.690): the values of which certificates and certificate requests consist.

import { parseIp } from '#machinery/net/ip.ts';

/** Names of a subject beside its distinguished name. */
export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** The object identifiers of extensions. */
export const KEY_USAGE = '2.5.29.15';
export const EXTENDED_KEY_USAGE = '2.5.29.37';
export const BASIC_CONSTRAINTS = '2.5.29.19';
export const SUBJECT_KEY_IDENTIFIER = '2.5.29.14';
export const AUTHORITY_KEY_IDENTIFIER = '2.5.29.35';
export const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

/** Returns a value with a tag and its length. */
export function tagged(tag: number, value: Buffer): Buffer {
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length, ...bytes]), value]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
export const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, Buffer.concat(parts));
export const integer = (value: Buffer): Buffer => tagged(0x02, value);
export const utf8String = (text: string): Buffer => tagged(0x0c, Buffer.from(text));
export const bitString = (value: Buffer, unused = 0): Buffer =>
  tagged(0x03, Buffer.concat([Buffer.from([unused]), value]));

/** Returns an extension. `value`: the DER of the extension's own value. */
export function extension(type: string, value: Buffer, critical = false): Buffer {
  return sequence(
    objectId(type),
    ...(critical ? [tagged(0x01, Buffer.from([0xff]))] : []),
    tagged(0x04, value),
  );
}

/** Encodes named bits: trailing zero bits are left out. */
export function flags(bits: readonly boolean[]): Buffer {
  const count = bits.lastIndexOf(true) + 1;
  const bytes = Buffer.alloc(Math.ceil(count / 8));
  bits.forEach((set, index) => {
    if (set) bytes[index >> 3] = bytes[index >> 3]! | (0x80 >> (index & 7));
  });
  return bitString(bytes, bytes.length * 8 - count);
}

/** Encodes an object identifier such as '2.5.4.3'. */
export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split('.').map(Number);
  const bytes = [first * 40 + second, ...others].flatMap((number) => {
    const groups = [number & 0x7f];
    for (let rest = number >>> 7; rest > 0; rest >>>= 7) groups.unshift(0x80 | (rest & 0x7f));
    return groups;
  });
  return tagged(0x06, Buffer.from(bytes));
}

/** Encodes a time: UTCTime (two digits for the year) until 2049, GeneralizedTime from 2050. */
export function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(text.slice(2)))
    : tagged(0x18, Buffer.from(text));
}

/** Returns the value of the extension subjectAltName; undefined without names. */
export function alternativeNames(names: AlternativeNames): Buffer | undefined {
  const encoded = [
    ...names.dnsNames.map((name) => tagged(0x82, Buffer.from(name, 'latin1'))),
    ...names.emailAddresses.map((name) => tagged(0x81, Buffer.from(name, 'latin1'))),
    ...names.ipAddresses.map((address) => tagged(0x87, addressBytes(address))),
    ...names.uris.map((uri) => tagged(0x86, Buffer.from(uri, 'latin1'))),
  ];
  return encoded.length === 0 ? undefined : sequence(...encoded);
}

/** Returns a PEM block. */
export function pemOf(type: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${type}-----\n${lines.join('\n')}\n-----END ${type}-----\n`;
}

function addressBytes(address: string): Buffer {
  const parsed = parseIp(address);
  if (parsed === undefined) throw new Error(`not an IP address: ${address}`);
  const digits = parsed.family === 'IPv4' ? 8 : 32;
  return Buffer.from(parsed.value.toString(16).padStart(digits, '0'), 'hex');
}
