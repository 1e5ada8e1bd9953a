// Creates a certificate authority for tests, valid for ten years from `nowMs`.

import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Authority } from '../x509.ts';

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function makeAuthority(nowMs: number): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=test',
    notBefore: new Date(nowMs),
    notAfter: new Date(nowMs + 3650 * 86_400_000),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new BasicConstraintsExtension(true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString(
    'base64',
  );
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${key.match(/.{1,64}/g)?.join('\n') ?? ''}\n-----END PRIVATE KEY-----\n`,
  };
}
