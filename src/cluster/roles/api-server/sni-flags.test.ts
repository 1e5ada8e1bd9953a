import { createPrivateKey, webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Credentials, makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { parseSniCertKey, readNamed } from './sni-flags.ts';

const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;

let dir: string;
let elliptic: Credentials;
let rsa: Credentials;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cox-sni-'));
  elliptic = await (await makeTestAuthority()).server();
  rsa = await makeRsa();
  for (const [name, { cert, key }] of Object.entries({ elliptic, rsa })) {
    writeFileSync(join(dir, `${name}.crt`), cert);
    writeFileSync(join(dir, `${name}.key`), key);
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function makeRsa(): Promise<Credentials> {
  await import('reflect-metadata');
  const { X509CertificateGenerator } = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(RSA, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=rsa.example.com',
    signingAlgorithm: RSA,
    keys,
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return {
    cert: made.toString('pem'),
    key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

const filesOf = (name: string, names = ''): string =>
  `${join(dir, `${name}.crt`)},${join(dir, `${name}.key`)}${names}`;

test('certificates are read with the names that are given', () => {
  const files = [filesOf('elliptic'), filesOf('elliptic', ':a.example.com,*.b.example.com')];
  expect(readNamed(files.map(parseSniCertKey), elliptic.cert)).toEqual([
    { cert: elliptic.cert, key: elliptic.key },
    { cert: elliptic.cert, key: elliptic.key, names: ['a.example.com', '*.b.example.com'] },
  ]);
  expect(readNamed([parseSniCertKey(filesOf('rsa'))], rsa.cert)).toHaveLength(1);
});

test.each([
  ['rsa', () => elliptic, 'is of type rsa, and that of the default certificate of type ec'],
  ['elliptic', () => rsa, 'is of type ec, and that of the default certificate of type rsa'],
])('%s: a key of another type than the default one is an error', (name, byDefault, error) => {
  expect(() => readNamed([parseSniCertKey(filesOf(name))], byDefault().cert)).toThrow(error);
});

test.each([
  ['a.crt', 'expected comma separated certificate and key file paths'],
  ['a.crt,a.key,b', 'expected comma separated certificate and key file paths'],
  ['a.crt,a.key:', 'empty names list is not allowed'],
  ['a.crt,a.key:10.0.0.1', 'is no host name'],
])('%s cannot be read', (text, error) => {
  expect(() => parseSniCertKey(text)).toThrow(error);
});
