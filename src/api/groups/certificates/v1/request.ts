// Parses certificate signing requests (PKCS #10, RFC 2986). Admission, the approver and the signer
// all use this parser, and the signer copies only its results into a certificate: they cannot
// differ about a request.

import { createPublicKey, verify } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { childrenOf, DerError, readDer, type Der } from './der.ts';
import { pemBlocks } from './pem.ts';

export interface CertificateRequest {
  /** The last common name of the subject; '' if there is none. */
  readonly commonName: string;
  /** All organizations of the subject, in the order of the request. */
  readonly organizations: readonly string[];
  /**
   * The subject as DER. Its strings are of the types of SUBJECT_STRINGS only, which every parser
   * decodes equally.
   */
  readonly subject: Buffer;
  readonly dnsNames: readonly string[];
  /** The IP addresses as text: '10.0.0.1', 'fd00:0:0:0:0:0:0:1'. */
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /** The key's SubjectPublicKeyInfo as DER. */
  readonly publicKey: Buffer;
}

/**
 * The largest request. It has room for thousands of names; more would occupy the API server and the
 * controllers for long.
 */
const MAX_BYTES = 256 * 1024;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_IDENTIFIER = 0x06;
const SEQUENCE = 0x30;
const SET = 0x31;
const ATTRIBUTES = 0xa0;
const COMMON_NAME = '550403';
const ORGANIZATION = '55040a';
const EXTENSION_REQUEST = '2a864886f70d01090e';
const ALTERNATIVE_NAMES = '551d11';
/**
 * Signature algorithms by the hex of their identifier: the hash, or null for an algorithm with a
 * fixed one.
 */
const HASHES: Readonly<Record<string, string | null>> = {
  '2a8648ce3d0401': 'sha1',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2a864886f70d010105': 'sha1',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2b6570': null,
};

/**
 * The allowed string types of a subject, by tag. Go also parses TeletexString (as Latin-1) and
 * BMPString, and OpenSSL UniversalString, too. They are rejected: parsers decode them differently,
 * and a group that only some parsers recognize would pass the checks of admission.
 */
const SUBJECT_STRINGS: Readonly<
  Record<number, { readonly name: string; readonly accepts: (bytes: Buffer) => boolean }>
> = {
  0x0c: { name: 'UTF-8 string', accepts: (bytes) => isUtf8(bytes) && !bytes.includes(0) },
  0x13: {
    name: 'PrintableString',
    accepts: (bytes) => /^[A-Za-z0-9 '()+,\-./:=?*&]*$/.test(bytes.toString('latin1')),
  },
  0x16: { name: 'IA5String', accepts: (bytes) => bytes.every((byte) => byte > 0 && byte < 0x80) },
};
const OTHER_STRINGS: Readonly<Record<number, string>> = {
  0x12: 'NumericString',
  0x14: 'TeletexString',
  0x1c: 'UniversalString',
  0x1e: 'BMPString',
};

/**
 * Parses the first PEM block of the text and checks its signature. `base64`: the PEM text in the
 * form of spec.request. Throws Error with a message for the field spec.request.
 */
export function parseCertificateRequest(base64: string): CertificateRequest {
  const { value: block } = pemBlocks(Buffer.from(base64, 'base64').toString('latin1')).next();
  if (block?.type !== 'CERTIFICATE REQUEST')
    throw new Error('PEM block type must be CERTIFICATE REQUEST');
  if (block.bytes.length > MAX_BYTES) throw new Error(`must have at most ${MAX_BYTES} bytes`);
  const [info, algorithm, signature] = constructed(readDer(block.bytes), SEQUENCE, 3, 3) as [
    Der,
    Der,
    Der,
  ];
  const [version, subject, publicKey, attributes] = constructed(info, SEQUENCE, 3, 4) as [
    Der,
    Der,
    Der,
    Der | undefined,
  ];
  if (version.tag !== INTEGER || publicKey.tag !== SEQUENCE) throw mismatch();
  const pairs = subjectPairs(subject);
  checkSignature(info.whole, publicKey.whole, algorithm, signature);
  const names = alternativeNames(attributes);
  return {
    commonName: valuesOf(pairs, COMMON_NAME).at(-1) ?? '',
    organizations: valuesOf(pairs, ORGANIZATION),
    subject: subject.whole,
    dnsNames: names.filter(({ tag }) => tag === 0x82).map(({ value }) => ia5(value, 'dNSName')),
    ipAddresses: names.filter(({ tag }) => tag === 0x87).map(({ value }) => addressOf(value)),
    emailAddresses: names
      .filter(({ tag }) => tag === 0x81)
      .map(({ value }) => ia5(value, 'rfc822Name')),
    uris: names
      .filter(({ tag }) => tag === 0x86)
      .map(({ value }) => ia5(value, 'uniformResourceIdentifier')),
    publicKey: publicKey.whole,
  };
}

function mismatch(): DerError {
  return new DerError('asn1: structure error: tags do not match');
}

/**
 * Returns the values inside `der`, which must have the tag and between `least` and `most` values.
 */
function constructed(der: Der, tag: number, least: number, most: number): readonly Der[] {
  if (der.tag !== tag) throw mismatch();
  const values = childrenOf(der);
  if (values.length < least) throw new DerError('asn1: syntax error: sequence truncated');
  if (values.length > most) throw new DerError('asn1: syntax error: trailing data');
  return values;
}

function checkSignature(signed: Buffer, spki: Buffer, algorithm: Der, signature: Der): void {
  const [type] = constructed(algorithm, SEQUENCE, 1, 2) as [Der];
  const identifier = identifierOf(type);
  const hash = Object.hasOwn(HASHES, identifier) ? HASHES[identifier] : undefined;
  if (hash === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented');
  // The first byte of a bit string is the number of unused bits in its last byte.
  if (signature.tag !== BIT_STRING || signature.value[0] !== 0) throw mismatch();
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  if (!verify(hash, signed, key, signature.value.subarray(1))) {
    throw new Error(
      key.asymmetricKeyType === 'rsa'
        ? 'crypto/rsa: verification error'
        : 'x509: ECDSA verification failure',
    );
  }
}

interface SubjectPair {
  /** The object identifier as hex. */
  readonly type: string;
  readonly value: string;
}

/**
 * Parses a name: a sequence of sets of pairs. A set with more than one pair is a multi-valued part.
 */
function subjectPairs(subject: Der): readonly SubjectPair[] {
  return constructed(subject, SEQUENCE, 0, Infinity)
    .flatMap((set) => constructed(set, SET, 1, Infinity))
    .map((pair) => {
      const [type, value] = constructed(pair, SEQUENCE, 2, 2) as [Der, Der];
      return { type: identifierOf(type), value: subjectString(value) };
    });
}

function valuesOf(pairs: readonly SubjectPair[], type: string): readonly string[] {
  return pairs.filter((pair) => pair.type === type).map(({ value }) => value);
}

function subjectString({ tag, value }: Der): string {
  const string = SUBJECT_STRINGS[tag];
  if (string === undefined) {
    const name = OTHER_STRINGS[tag] ?? `type with tag ${tag}`;
    const allowed = 'only UTF8String, PrintableString and IA5String are supported';
    throw new Error(
      `x509: invalid RDNSequence: invalid attribute value: unsupported string type: ${name}: ${allowed}`,
    );
  }
  if (!string.accepts(value)) {
    throw new Error(`x509: invalid RDNSequence: invalid attribute value: invalid ${string.name}`);
  }
  return value.toString('utf8');
}

/** Returns the object identifier as hex. Only its shortest encoding is accepted. */
function identifierOf({ tag, value }: Der): string {
  if (tag !== OBJECT_IDENTIFIER) throw mismatch();
  const isShortest = value.every((byte, index) => byte !== 0x80 || (value[index - 1] ?? 0) >= 0x80);
  if (value.length === 0 || value.at(-1)! >= 0x80 || !isShortest) {
    throw new DerError('asn1: syntax error: invalid object identifier');
  }
  return value.toString('hex');
}

/** Returns the names in all subjectAltName extensions of all extensionRequest attributes. */
function alternativeNames(attributes: Der | undefined): readonly Der[] {
  if (attributes === undefined) return [];
  return constructed(attributes, ATTRIBUTES, 0, Infinity)
    .map((attribute) => constructed(attribute, SEQUENCE, 2, 2) as [Der, Der])
    .filter(([type]) => identifierOf(type) === EXTENSION_REQUEST)
    .flatMap(([, values]) => constructed(values, SET, 1, 1))
    .flatMap((extensions) => constructed(extensions, SEQUENCE, 0, Infinity))
    .map((extension) => constructed(extension, SEQUENCE, 2, 3) as [Der, ...Der[]])
    .filter(([type]) => identifierOf(type) === ALTERNATIVE_NAMES)
    .flatMap((extension) => {
      const value = extension.at(-1)!;
      if (value.tag !== OCTET_STRING) throw mismatch();
      return constructed(readDer(value.value), SEQUENCE, 0, Infinity);
    });
}

/**
 * Control characters are rejected: a parser that ends names at a NUL, or prints names in lines,
 * would see another name.
 */
function ia5(bytes: Buffer, name: string): string {
  if (!bytes.every((byte) => byte >= 0x20 && byte < 0x7f))
    throw new Error(`x509: SAN ${name} is malformed`);
  return bytes.toString('latin1');
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16)
    throw new Error(`x509: cannot parse IP address of length ${bytes.length}`);
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(
    ':',
  );
}
