// Certificate signing requests through the API.

import 'reflect-metadata';
import {
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { parseCertificateRequest } from '#api/groups/certificates/v1/request.ts';
import {
  kubeletClientProblem,
  kubeletServingProblem,
} from '#api/groups/certificates/v1/signers.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;

async function pemOf(name: string, algorithm: typeof EC | typeof RSA = EC): Promise<string> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const names = [
    { type: 'dns', value: 'n1.local' },
    { type: 'ip', value: '10.0.0.7' },
    { type: 'url', value: 'spiffe://x' },
  ] as const;
  const extensions = [new SubjectAlternativeNameExtension([...names])];
  const request = await Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: algorithm,
    extensions,
  });
  return request.toString('pem');
}
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');

let request: string;
let rsaRequest: string;
let masters: string;
let certificate: string;
beforeAll(async () => {
  request = base64(await pemOf('O=system:nodes, CN=system:node:n1'));
  rsaRequest = base64(await pemOf('CN=rsa', RSA));
  masters = base64(await pemOf('O=system:masters, CN=me'));
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const selfSigned = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=x',
    keys,
    signingAlgorithm: EC,
    serialNumber: '01',
  });
  certificate = base64(`${selfSigned.toString('pem')}\n`);
});

const t = serverPerTest();
const api = new Api(t);

const csr = (spec: object = {}) => ({
  metadata: { name: 'a' },
  spec: { request, signerName: 'example.com/mine', usages: ['client auth'], ...spec },
});
const approved = { type: 'Approved', status: 'True', reason: 'Good' };

describe('the content of a request', () => {
  test('is parsed, for any type of key', () => {
    expect(parseCertificateRequest(request)).toMatchObject({
      commonName: 'system:node:n1',
      organizations: ['system:nodes'],
      dnsNames: ['n1.local'],
      ipAddresses: ['10.0.0.7'],
      uris: ['spiffe://x'],
      emailAddresses: [],
    });
    expect(parseCertificateRequest(rsaRequest)).toMatchObject({
      commonName: 'rsa',
      organizations: [],
    });
  });

  test('is validated: another signature, invalid bytes', () => {
    const der = Buffer.from(
      Buffer.from(request, 'base64')
        .toString('latin1')
        .replace(/-----[^-]+-----|\s/g, ''),
      'base64',
    );
    const pem = (bytes: Buffer): string =>
      base64(
        `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`,
      );
    expect(parseCertificateRequest(pem(der)).commonName).toBe('system:node:n1');
    const name = der.indexOf('system:node:n1');
    const forged = Buffer.from(der);
    forged.write('system:node:n2', name, 'latin1');
    expect(() => parseCertificateRequest(pem(forged))).toThrow('x509: ECDSA verification failure');
    for (let length = 0; length < der.length; length += 7) {
      expect(() => parseCertificateRequest(pem(der.subarray(0, length)))).toThrow();
    }
    expect(() => parseCertificateRequest(base64('hello'))).toThrow(
      'PEM block type must be CERTIFICATE REQUEST',
    );
  });

  test('must be valid for the signer of kubelets', () => {
    const parsed = { ...parseCertificateRequest(request), uris: [] };
    const usages = ['digital signature', 'client auth'];
    expect(kubeletClientProblem(parsed, usages)).toBe('DNS subjectAltNames are not allowed');
    const plain = { ...parsed, dnsNames: [], ipAddresses: [] };
    expect(kubeletClientProblem(plain, usages)).toBeUndefined();
    expect(kubeletClientProblem(plain, ['server auth'])).toContain('usages did not match');
    expect(kubeletClientProblem({ ...plain, organizations: [] }, usages)).toBe(
      'subject organization is not system:nodes',
    );
    expect(kubeletServingProblem(plain, ['digital signature', 'server auth'])).toBe(
      'DNS or IP subjectAltName is required',
    );
    expect(kubeletServingProblem(parsed, ['digital signature', 'server auth'])).toBeUndefined();
    expect(kubeletServingProblem({ ...parsed, commonName: 'x' }, [])).toContain(
      'subject common name',
    );
  });
});

test('the server writes the user', async () => {
  const { json } = await send(t.server, {
    method: 'POST',
    path: PATH,
    user: { name: 'joe', uid: '7', groups: ['system:masters', 'dev'], extra: { why: ['x'] } },
    body: {
      ...csr({ username: 'admin', groups: ['other'] }),
      status: { certificate, conditions: [approved] },
    },
  });
  expect(json).toMatchObject({
    spec: { username: 'joe', uid: '7', groups: ['system:masters', 'dev'], extra: { why: ['x'] } },
    status: {},
  });
  expect(json.status).toEqual({});
});

test.each<[object, string]>([
  [{ request: base64('x') }, 'PEM block type must be CERTIFICATE REQUEST'],
  [{ usages: [] }, 'spec.usages: Required value'],
  [{ usages: ['fly'] }, 'spec.usages[0]: Unsupported value: "fly": supported values: "any", '],
  [{ usages: ['any', 'any'] }, 'spec.usages[1]: Duplicate value: "any"'],
  [{ signerName: '' }, 'spec.signerName: Required value'],
  [
    { signerName: 'mine' },
    "must be a fully qualified domain and path of the form 'example.com/signer-name'",
  ],
  [
    { signerName: 'a.b/c/d' },
    "must be a fully qualified domain and path of the form 'example.com/signer-name'",
  ],
  [
    { signerName: 'example/mine' },
    'should be a domain with at least two segments separated by dots',
  ],
  [{ signerName: 'Example.com/mine' }, 'validating label "Example"'],
  [{ signerName: 'example.com/Mine' }, 'validating label "Mine"'],
  [
    { signerName: 'kubernetes.io/legacy-unknown' },
    'the legacy signerName is not allowed via this API version',
  ],
  [{ expirationSeconds: 599 }, 'may not specify a duration less than 600 seconds (10 minutes)'],
])('%j is rejected', async (spec, why) => {
  const text = outcome(await api.post(PATH, csr(spec)));
  expect(text).toContain('422 Invalid');
  expect(text).toContain(why);
});

test('requests for system:masters are rejected', async () => {
  const signerName = 'kubernetes.io/kube-apiserver-client';
  expect(outcome(await api.post(PATH, csr({ signerName, request: masters })))).toContain(
    'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  );
});

describe('a request', () => {
  beforeEach(async () => {
    expect((await api.post(PATH, csr())).code).toBe(201);
  });

  test('is immutable except for labels', async () => {
    const { json } = await api.patch(`${PATH}/a`, {
      metadata: { labels: { a: 'b' } },
      spec: { signerName: 'example.com/other' },
      status: { certificate },
    });
    expect(json).toMatchObject({
      metadata: { labels: { a: 'b' } },
      spec: { signerName: 'example.com/mine' },
    });
    expect(json.status).toEqual({});
  });

  test('is approved through one subresource, and signed through the other', async () => {
    const early = await api.patch(`${PATH}/a/status`, { status: { conditions: [approved] } });
    expect(outcome(early)).toContain('updates may not add a condition of type "Approved"');
    const yes = await api.patch(`${PATH}/a/approval`, {
      status: { conditions: [approved], certificate },
    });
    expect(yes.json.status).toEqual({
      conditions: [
        { ...approved, lastUpdateTime: expect.any(String), lastTransitionTime: expect.any(String) },
      ],
    });
    const signed = await api.patch(`${PATH}/a/status`, { status: { certificate } });
    expect(signed.json.status).toMatchObject({ certificate, conditions: [{ type: 'Approved' }] });
    const again = await api.patch(`${PATH}/a/status`, {
      status: { certificate: base64(`${Buffer.from(certificate, 'base64').toString()}\n\n`) },
    });
    expect(outcome(again)).toContain('updates may not modify existing certificate content');
    const without = await api.patch(`${PATH}/a/approval`, { status: { conditions: [] } });
    expect(outcome(without)).toContain('updates may not remove a condition of type "Approved"');
  });

  test.each([
    [
      [approved, { ...approved, type: 'Denied' }],
      'Approved and Denied conditions are mutually exclusive',
    ],
    [[{ ...approved, status: 'False' }], 'supported values: "True"'],
    [[{ type: 'Other', status: 'Maybe' }], 'supported values: "False", "True", "Unknown"'],
    [[{ type: '', status: 'True' }], 'type: Required value'],
    [[approved, approved], 'Duplicate value: "Approved"'],
  ])('cannot have the conditions %j', async (conditions, why) => {
    expect(outcome(await api.patch(`${PATH}/a/approval`, { status: { conditions } }))).toContain(
      why,
    );
  });

  test('accepts only certificates', async () => {
    expect(
      outcome(await api.patch(`${PATH}/a/status`, { status: { certificate: base64('x') } })),
    ).toContain('must contain at least one CERTIFICATE PEM block');
  });

  test('is approved only with permission for its signer', async () => {
    const user = {
      name: 'system:serviceaccount:kube-system:certificate-controller',
      groups: ['system:authenticated'],
    };
    const current = (await api.get(`${PATH}/a`)).json;
    const as = (subresource: string, status: object) =>
      send(t.server, {
        method: 'PUT',
        path: `${PATH}/a/${subresource}`,
        user,
        body: { ...current, status },
      });
    expect(outcome(await as('approval', { conditions: [approved] }))).toContain(
      'user not permitted to approve requests with signerName "example.com/mine"',
    );
    expect(outcome(await as('status', { certificate }))).toContain(
      'user not permitted to sign requests with signerName "example.com/mine"',
    );
  });

  test('can be selected by its signer, and has a table', async () => {
    const find = async (name: string) =>
      (await api.get(`${PATH}?fieldSelector=spec.signerName%3D${name}`)).json.items;
    expect(await find('example.com/mine')).toHaveLength(1);
    expect(await find('example.com/other')).toHaveLength(0);
    const { json } = await send(t.server, {
      path: PATH,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    expect(json).toMatchObject({
      rows: [{ cells: ['a', '0s', 'example.com/mine', expect.any(String), '<none>', 'Pending'] }],
    });
  });
});

test('certificates with a requested lifetime are counted when they are issued', async () => {
  const year = 365 * 24 * 3600;
  const issue = async (name: string, spec: object): Promise<void> => {
    await api.post(PATH, { ...csr(spec), metadata: { name } });
    await api.patch(`${PATH}/${name}/approval`, { status: { conditions: [approved] } });
    const status = { certificate };
    await api.patch(`${PATH}/${name}/status?dryRun=All`, { status });
    expect((await api.patch(`${PATH}/${name}/status`, { status })).code).toBe(200);
    // A later write of the status issues nothing.
    const conditions = [approved, { type: 'Seen', status: 'True' }];
    expect((await api.patch(`${PATH}/${name}/status`, { status: { conditions } })).code).toBe(200);
  };
  const signerName = 'kubernetes.io/kube-apiserver-client';
  await issue('none', {});
  await issue('honored', { signerName, expirationSeconds: year });
  await issue('shorter', { signerName, expirationSeconds: 3600 });
  await issue('other', { expirationSeconds: year });
  const { text } = await send(t.server, { path: '/metrics' });
  const lines = text.split('\n').filter((line) => line.startsWith('apiserver_certificates_'));
  expect(lines).toEqual([
    `apiserver_certificates_registry_csr_honored_duration_total{signerName="${signerName}"} 1`,
    'apiserver_certificates_registry_csr_honored_duration_total{signerName="other"} 1',
    `apiserver_certificates_registry_csr_requested_duration_total{signerName="${signerName}"} 2`,
    'apiserver_certificates_registry_csr_requested_duration_total{signerName="other"} 1',
  ]);
});
