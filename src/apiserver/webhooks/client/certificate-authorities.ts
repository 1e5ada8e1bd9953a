// The certificate authorities in a caBundle. Error messages are upstream's.

import { X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n[A-Za-z0-9+/=\s]*-----END \1-----/g;

/**
 * Returns the certificates in a PEM bundle, as PEM. Other blocks are left out. Throws Error if
 * there is no certificate.
 */
export function certificateAuthorities(pem: string): readonly string[] {
  const blocks = [...pem.matchAll(BLOCK)];
  const certificates = blocks.flatMap(([block, type]) =>
    type === 'CERTIFICATE' && isCertificate(block) ? [block] : [],
  );
  if (certificates.length > 0) return certificates;
  if (blocks.some(([, type]) => type === 'CERTIFICATE'))
    throw problem('failed to parse certificate: x509: malformed certificate');
  throw problem(
    blocks.length === 0
      ? 'unable to parse bytes as PEM block'
      : 'no valid certificate authority data seen',
  );
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    // OpenSSL's message adds nothing to upstream's.
    return false;
  }
}

function problem(why: string): Error {
  return new Error(`unable to load root certificates: ${why}`);
}
