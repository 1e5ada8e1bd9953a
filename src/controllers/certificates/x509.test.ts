import 'reflect-metadata';
import {
  X509Certificate as Peculiar,
  ExtendedKeyUsageExtension,
  KeyUsagesExtension,
  Pkcs10CertificateRequestGenerator,
} from '@peculiar/x509';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseCertificateRequest } from '#api/groups/certificates/v1/request.ts';
import { makeAuthority } from './testing/authority.ts';
import { type Authority, makeCertificate } from './x509.ts';

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const NOW = Date.UTC(2026, 0, 1);

async function certify(
  authority: Authority,
  usages: readonly string[],
  notAfterMs = NOW + 1000,
): Promise<string> {
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const made = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=x',
    keys,
    signingAlgorithm: EC,
  });
  const requestPem = made.toString('pem');
  const request = parseCertificateRequest(Buffer.from(requestPem).toString('base64'));
  const serialNumber = Uint8Array.from({ length: 16 }, () => 0xff);
  return makeCertificate(authority, {
    request,
    usages,
    serialNumber,
    notBeforeMs: NOW,
    notAfterMs,
  });
}

test('a certificate has the usages of its key', async () => {
  const authority = await makeAuthority(NOW);
  const certificate = new Peculiar(
    await certify(authority, ['signing', 'decipher only', 's/mime', 'microsoft sgc', 'any']),
  );
  // Bits 0 and 8 (the first and the ninth).
  expect(certificate.getExtension(KeyUsagesExtension)?.usages).toBe(0b1_0000_0001);
  expect(certificate.getExtension(ExtendedKeyUsageExtension)?.usages).toEqual([
    '1.3.6.1.5.5.7.3.4',
    '1.3.6.1.4.1.311.10.3.3',
    '2.5.29.37.0',
  ]);
  expect(certificate.serialNumber).toBe('7f'.padEnd(32, 'f'));
  await expect(certify(authority, ['magic'])).rejects.toThrow(
    'unrecognized usage values: ["magic"]',
  );
});

test('the year 2050 and those after it are written with four digits', async () => {
  const certificate = new X509Certificate(
    await certify(await makeAuthority(NOW), [], Date.UTC(2050, 0, 1)),
  );
  expect(certificate.validTo).toBe('Jan  1 00:00:00 2050 GMT');
});

test.each([
  ['RSA', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ['Ed25519', () => generateKeyPairSync('ed25519')],
  ['P-384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' })],
])('an authority with a key of the kind %s signs', async (_, generate) => {
  const { cert } = await makeAuthority(NOW);
  const { privateKey, publicKey } = generate();
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(new X509Certificate(await certify({ cert, key }, ['client auth'])).verify(publicKey)).toBe(
    true,
  );
});
