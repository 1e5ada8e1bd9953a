import 'reflect-metadata';
import { generateKeyPairSync } from 'node:crypto';
import { Pkcs10CertificateRequest } from '@peculiar/x509';
import { expect, test } from 'vitest';
import { makeCertificateRequest, type RequestTemplate } from './make-request.ts';
import { parseCertificateRequest } from './request.ts';

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const template: RequestTemplate = {
  commonName: 'system:node:worker',
  organizations: ['system:nodes'],
  dnsNames: [],
  ipAddresses: [],
};

const parsed = (pem: string) => parseCertificateRequest(Buffer.from(pem).toString('base64'));

test('a request has the subject and the names of its template, and a valid signature', async () => {
  const pem = makeCertificateRequest(key, {
    ...template,
    dnsNames: ['worker', 'worker.example.org'],
    ipAddresses: ['10.0.0.7', 'fd00::7'],
  });
  expect(parsed(pem)).toMatchObject({
    commonName: 'system:node:worker',
    organizations: ['system:nodes'],
    dnsNames: ['worker', 'worker.example.org'],
    ipAddresses: ['10.0.0.7', 'fd00:0:0:0:0:0:0:7'],
  });
  const peculiar = new Pkcs10CertificateRequest(pem);
  expect(peculiar.subject).toBe('O=system:nodes, CN=system:node:worker');
  expect(await peculiar.verify()).toBe(true);
});

test('a request without names has no attributes', () => {
  const pem = makeCertificateRequest(key, template);
  expect(new Pkcs10CertificateRequest(pem).attributes).toEqual([]);
  expect(parsed(pem)).toMatchObject({ dnsNames: [], ipAddresses: [] });
});

test('several organizations are one set, in the order of DER', () => {
  const pem = makeCertificateRequest(key, { ...template, organizations: ['bb', 'a'] });
  expect(parsed(pem).organizations).toEqual(['a', 'bb']);
});

test('other keys and wrong addresses are rejected', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  expect(() => makeCertificateRequest(other, template)).toThrow('P-256');
  expect(() => makeCertificateRequest(key, { ...template, ipAddresses: ['10.0.0'] })).toThrow(
    'not an IP address: 10.0.0',
  );
});
