// What is in a certificate signing request (PKCS #10, RFC 2986): who asks, for which names, with which key, and whether the
// one who asks has that key.

import { createPublicKey, verify } from 'node:crypto';
import { childrenOf, DerError, readDer } from './der.ts';
import type { Der } from './der.ts';
import { pemBlocks } from './pem.ts';

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** As text: '10.0.0.1', 'fd00:0:0:0:0:0:0:1'. */
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /** The key's SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
}

const SEQUENCE = 0x30;
const COMMON_NAME = '550403';
const ORGANIZATION = '55040a';
const EXTENSION_REQUEST = '2a864886f70d01090e';
const ALTERNATIVE_NAMES = '551d11';
/** Signature algorithms by the hex of their identifier: the hash, null where the key's kind says it. */
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

/** `base64`: of the PEM text, as spec.request has it. Throws Error with what is wrong; also if the signature is not the key's. */
export function parseCertificateRequest(base64: string): CertificateRequest {
  const { value: block } = pemBlocks(Buffer.from(base64, 'base64').toString('latin1')).next();
  if (block?.type !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const [info, algorithm, signature] = fields(readDer(block.bytes), 3);
  const [, subject, publicKey, attributes] = childrenOf(info);
  if (subject === undefined || publicKey === undefined) throw new DerError('asn1: syntax error: sequence truncated');
  checkSignature(info.whole, publicKey.whole, algorithm, signature);
  const names = namesOf(attributes);
  return {
    commonName: subjectValues(subject, COMMON_NAME).at(-1) ?? '',
    organizations: subjectValues(subject, ORGANIZATION),
    dnsNames: names.filter(({ tag }) => tag === 0x82).map(({ value }) => value.toString('latin1')),
    ipAddresses: names.filter(({ tag }) => tag === 0x87).map(({ value }) => addressOf(value)),
    emailAddresses: names.filter(({ tag }) => tag === 0x81).map(({ value }) => value.toString('latin1')),
    uris: names.filter(({ tag }) => tag === 0x86).map(({ value }) => value.toString('latin1')),
    publicKey: publicKey.whole,
  };
}

function fields(der: Der, count: 2): [Der, Der];
function fields(der: Der, count: 3): [Der, Der, Der];
function fields(der: Der, count: number): Der[] {
  const found = der.tag === SEQUENCE ? childrenOf(der) : [];
  if (found.length < count) throw new DerError('asn1: structure error: tags do not match');
  return [...found];
}

function checkSignature(signed: Buffer, spki: Buffer, algorithm: Der, signature: Der): void {
  const identifier = childrenOf(algorithm)[0]?.value.toString('hex') ?? '';
  const hash = Object.hasOwn(HASHES, identifier) ? HASHES[identifier] : undefined;
  if (hash === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented');
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  // The first byte of a bit string says how many bits of its last are unused: none.
  if (!verify(hash, signed, key, signature.value.subarray(1))) {
    throw new Error(key.asymmetricKeyType === 'rsa' ? 'crypto/rsa: verification error' : 'x509: ECDSA verification failure');
  }
}

/** A name is a sequence of sets of pairs. */
function subjectValues(subject: Der, identifier: string): string[] {
  return childrenOf(subject)
    .flatMap((set) => childrenOf(set))
    .map((pair) => fields(pair, 2))
    .filter(([type]) => type.value.toString('hex') === identifier)
    .map(([, value]) => value.value.toString(value.tag === 0x1e ? 'utf16le' : 'utf8'));
}

function namesOf(attributes: Der | undefined): readonly Der[] {
  if (attributes === undefined) return [];
  return childrenOf(attributes)
    .map((attribute) => fields(attribute, 2))
    .filter(([type]) => type.value.toString('hex') === EXTENSION_REQUEST)
    .flatMap(([, values]) => childrenOf(values))
    .flatMap((extensions) => childrenOf(extensions))
    .map((extension) => childrenOf(extension))
    .filter(([type]) => type?.value.toString('hex') === ALTERNATIVE_NAMES)
    .flatMap((extension) => childrenOf(readDer((extension.at(-1) as Der).value)));
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: Math.floor(bytes.length / 2) }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return groups.join(':');
}
