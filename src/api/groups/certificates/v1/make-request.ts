// Makes certificate signing requests (PKCS #10, RFC 2986), which parseCertificateRequest reads.
// Signatures are made synchronously: the virtual clock does not account for work of other threads.

import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import {
  alternativeNames,
  bitString,
  extension,
  integer,
  objectId,
  pemOf,
  sequence,
  set,
  SUBJECT_ALTERNATIVE_NAME,
  tagged,
  utf8String,
} from './der-writer.ts';

export interface RequestTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

const ORGANIZATION = '2.5.4.10';
const COMMON_NAME = '2.5.4.3';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

/** Returns the request as PEM. `key`: a private key on the curve P-256. */
export function makeCertificateRequest(key: KeyObject, template: RequestTemplate): string {
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new TypeError('a certificate request needs a private key on the curve P-256');
  const info = sequence(
    integer(Buffer.from([0])),
    subjectOf(template),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    tagged(0xa0, attributesOf(template)),
  );
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const signature = sign('sha256', info, key);
  return pemOf('CERTIFICATE REQUEST', sequence(info, algorithm, bitString(signature)));
}

/** As Go encodes a pkix.Name: all organizations in one set, then the common name. */
function subjectOf({ commonName, organizations }: RequestTemplate): Buffer {
  const pair = (type: string, value: string): Buffer => sequence(objectId(type), utf8String(value));
  const values = organizations.map((organization) => pair(ORGANIZATION, organization));
  return sequence(
    // DER sorts the values of a set.
    ...(values.length > 0 ? [set(...values.toSorted((a, b) => Buffer.compare(a, b)))] : []),
    set(pair(COMMON_NAME, commonName)),
  );
}

function attributesOf({ dnsNames, ipAddresses }: RequestTemplate): Buffer {
  const names = alternativeNames({ dnsNames, ipAddresses, emailAddresses: [], uris: [] });
  if (names === undefined) return Buffer.alloc(0);
  const extensions = sequence(extension(SUBJECT_ALTERNATIVE_NAME, names));
  return sequence(objectId(EXTENSION_REQUEST), set(extensions));
}
