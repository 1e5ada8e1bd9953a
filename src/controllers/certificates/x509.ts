// Makes X.509 certificates (RFC 5280) from certificate requests. It uses no library: a certificate
// is a few nested lists, and the signature must be made synchronously, because the virtual clock
// does not account for work of other threads.

import { createPrivateKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { childrenOf, readDer } from '#api/groups/certificates/v1/der.ts';
import {
  alternativeNames,
  AUTHORITY_KEY_IDENTIFIER,
  BASIC_CONSTRAINTS,
  bitString,
  EXTENDED_KEY_USAGE,
  extension,
  flags,
  integer,
  KEY_USAGE,
  objectId,
  pemOf,
  sequence,
  SUBJECT_ALTERNATIVE_NAME,
  SUBJECT_KEY_IDENTIFIER,
  tagged,
  time,
} from '#api/groups/certificates/v1/der-writer.ts';
import type { CertificateRequest } from '#api/groups/certificates/v1/request.ts';

/** The certificate authority: certificate and private key as PEM. */
export interface Authority {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateTemplate {
  /** The request: the certificate gets its subject, names and public key, and nothing else. */
  readonly request: CertificateRequest;
  /** Usages in the form of spec.usages. */
  readonly usages: readonly string[];
  /** The serial number: 16 bytes. */
  readonly serialNumber: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The bits of KeyUsage, in order. */
const KEY_USAGES = [
  'digital signature',
  'content commitment',
  'key encipherment',
  'data encipherment',
  'key agreement',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
];
const SYNONYMS: Readonly<Record<string, string>> = {
  signing: 'digital signature',
  's/mime': 'email protection',
};
const EXTENDED_USAGES: Readonly<Record<string, string>> = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
};

/** Returns the certificate as PEM. Throws Error for an unknown usage. */
export function makeCertificate(authority: Authority, template: CertificateTemplate): string {
  const key = createPrivateKey(authority.key);
  const { algorithm, hash } = signatureAlgorithm(key);
  const issuer = readDer(new X509Certificate(authority.cert).raw);
  const { subject: issuerName, keyIdentifier } = issuerParts(issuer);
  const serial = Buffer.from(template.serialNumber);
  // DER integers are signed and minimal: the first bit must be 0, and the first byte not 0.
  serial[0] = (serial[0]! & 0x7f) | 0x01;
  const signed = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    issuerName,
    sequence(time(template.notBeforeMs), time(template.notAfterMs)),
    template.request.subject,
    template.request.publicKey,
    tagged(0xa3, sequence(...extensionsOf(template, keyIdentifier))),
  );
  const signature = sign(hash, signed, key);
  return pemOf('CERTIFICATE', sequence(signed, algorithm, bitString(signature)));
}

function extensionsOf(
  { request, usages }: CertificateTemplate,
  keyIdentifier: Buffer | undefined,
): Buffer[] {
  const named = usages.map((usage) => SYNONYMS[usage] ?? usage);
  const unknown = named.find(
    (usage) => !KEY_USAGES.includes(usage) && EXTENDED_USAGES[usage] === undefined,
  );
  if (unknown !== undefined)
    throw new Error(`unrecognized usage values: ${JSON.stringify([unknown])}`);
  const bits = KEY_USAGES.map((usage) => named.includes(usage));
  const extended = [...new Set(named)].flatMap((usage) => EXTENDED_USAGES[usage] ?? []);
  const names = alternativeNames(request);
  return [
    ...(bits.includes(true) ? [extension(KEY_USAGE, flags(bits), true)] : []),
    ...(extended.length > 0
      ? [extension(EXTENDED_KEY_USAGE, sequence(...extended.map(objectId)))]
      : []),
    // Basic constraints: not a certificate authority.
    extension(BASIC_CONSTRAINTS, sequence(), true),
    ...(keyIdentifier !== undefined
      ? [extension(AUTHORITY_KEY_IDENTIFIER, sequence(tagged(0x80, keyIdentifier)))]
      : []),
    ...(names === undefined ? [] : [extension(SUBJECT_ALTERNATIVE_NAME, names)]),
  ];
}

/** Returns the subject of a certificate, and the identifier of its key if it has one. */
function issuerParts(certificate: ReturnType<typeof readDer>): {
  subject: Buffer;
  keyIdentifier: Buffer | undefined;
} {
  const fields = childrenOf(firstChild(certificate));
  // The fields: version (optional), serial number, algorithm, issuer, validity, subject.
  const subject = fields[fields[0]?.tag === 0xa0 ? 5 : 4];
  if (subject === undefined) throw new Error('a certificate without a subject');
  const extensions = fields.find(({ tag }) => tag === 0xa3);
  const identifier =
    extensions === undefined
      ? undefined
      : childrenOf(firstChild(extensions))
          .map((each) => childrenOf(each))
          .find(([type]) => type?.value.equals(objectId(SUBJECT_KEY_IDENTIFIER).subarray(2)))
          ?.at(-1);
  return {
    subject: subject.whole,
    keyIdentifier: identifier === undefined ? undefined : readDer(identifier.value).value,
  };
}

function firstChild(der: ReturnType<typeof readDer>): ReturnType<typeof readDer> {
  const [first] = childrenOf(der);
  if (first === undefined) throw new Error('asn1: syntax error: sequence truncated');
  return first;
}

function signatureAlgorithm(key: KeyObject): { algorithm: Buffer; hash: string | null } {
  const ecdsa: Readonly<Record<string, readonly [string, string]>> = {
    prime256v1: ['1.2.840.10045.4.3.2', 'sha256'],
    secp384r1: ['1.2.840.10045.4.3.3', 'sha384'],
    secp521r1: ['1.2.840.10045.4.3.4', 'sha512'],
  };
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return {
        algorithm: sequence(objectId('1.2.840.113549.1.1.11'), tagged(0x05, Buffer.alloc(0))),
        hash: 'sha256',
      };
    case 'ed25519':
      return { algorithm: sequence(objectId('1.3.101.112')), hash: null };
    case 'ec': {
      const found = ecdsa[key.asymmetricKeyDetails?.namedCurve ?? ''];
      if (found !== undefined) return { algorithm: sequence(objectId(found[0])), hash: found[1] };
    }
  }
  throw new Error(
    `a key of the kind ${key.asymmetricKeyType ?? 'unknown'} cannot sign certificates`,
  );
}
