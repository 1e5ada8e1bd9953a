import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import {
  type JsonGeneralName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { certificateSigningRequests, type KeyUsage } from '#api/groups/certificates/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { ControllerConfig } from '../controller.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { disturb } from '../testing/robustness.ts';
import { makeAuthority } from './testing/authority.ts';
import { CertificateApprover, CertificateCleaner, CertificateSigner } from './index.ts';

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const requestFor = async (
  name: string,
  hosts: readonly JsonGeneralName[] = [],
): Promise<string> => {
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const extensions = hosts.length === 0 ? [] : [new SubjectAlternativeNameExtension([...hosts])];
  const made = await Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: EC,
    extensions,
  });
  return Buffer.from(made.toString('pem')).toString('base64');
};

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const ask = async (
  name: string,
  subject: string,
  user: string,
  groups: readonly string[],
): Promise<void> => {
  const handler = cluster.server.inProcess({
    name: user,
    groups: [...groups, 'system:authenticated'],
  });
  await createClient(createInProcessTransport({ handler }))
    .resource(certificateSigningRequests)
    .create({
      metadata: { name },
      spec: {
        request: await requestFor(subject),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['client auth', 'digital signature'],
      },
    });
};
const conditionsOf = async (name: string) =>
  (await cluster.client.resource(certificateSigningRequests).get(name)).status.conditions?.map(
    ({ type, reason, message }) => [type, reason, message],
  );

test('kubelets get their own certificates, and no certificate beyond that', async () => {
  await cluster.run((config) => new CertificateApprover(config));
  await ask('own', 'O=system:nodes, CN=system:node:n1', 'system:node:n1', ['system:nodes']);
  // A node may not even request the certificate of another node.
  await expect(
    ask('other', 'O=system:nodes, CN=system:node:n2', 'system:node:n1', ['system:nodes']),
  ).rejects.toThrow('can only create a node CSR with CN=system:node:n1');
  await ask('bootstrapped', 'O=system:nodes, CN=system:node:n3', 'admin', ['system:masters']);
  await ask('odd', 'O=others, CN=system:node:n1', 'system:node:n1', ['system:nodes']);
  await cluster.clock.advance('1s');
  expect(await conditionsOf('own')).toEqual([
    [
      'Approved',
      'AutoApproved',
      'Auto approving self kubelet client certificate after SubjectAccessReview.',
    ],
  ]);
  expect(await conditionsOf('bootstrapped')).toEqual([
    [
      'Approved',
      'AutoApproved',
      'Auto approving kubelet client certificate after SubjectAccessReview.',
    ],
  ]);
  expect(await conditionsOf('odd')).toBeUndefined();
});

test('requests are deleted a day after their creation or approval, and an hour after a denial', async () => {
  const requests = cluster.client.resource(certificateSigningRequests);
  await cluster.run((config) => new CertificateCleaner(config));
  for (const name of ['pending', 'denied', 'approved'])
    await ask(name, 'CN=x', 'admin', ['system:masters']);
  const decide = (name: string, type: string) =>
    requests.patch(
      name,
      'application/merge-patch+json',
      { status: { conditions: [{ type, status: 'True' }] } },
      { subresource: 'approval' },
    );
  await decide('denied', 'Denied');
  await cluster.clock.advance('50m');
  await decide('approved', 'Approved');
  const names = async () => (await requests.list()).items.map(({ metadata }) => metadata.name);
  expect(await names()).toEqual(['approved', 'denied', 'pending']);
  await cluster.clock.advance('11m');
  expect(await names()).toEqual(['approved', 'pending']);
  await cluster.clock.advance('23h');
  expect(await names()).toEqual(['approved']);
  await cluster.clock.advance('1h');
  expect(await names()).toEqual([]);
});

describe('approved requests are signed', () => {
  const requests = () => cluster.client.resource(certificateSigningRequests);
  const sign = async (
    name: string,
    signerName: string,
    usages: KeyUsage[],
    {
      subject = 'CN=jane, O=dev',
      hosts = [] as JsonGeneralName[],
      expirationSeconds = undefined as number | undefined,
    } = {},
  ) => {
    await requests().create({
      metadata: { name },
      spec: {
        request: await requestFor(subject, hosts),
        signerName: `kubernetes.io/${signerName}`,
        usages,
        ...(expirationSeconds !== undefined && { expirationSeconds }),
      },
    });
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }];
    await requests().patch(
      name,
      'application/merge-patch+json',
      { status: { conditions } },
      { subresource: 'approval' },
    );
    await cluster.clock.settle();
    const { status } = await requests().get(name);
    const { certificate } = status;
    return {
      status,
      certificate:
        certificate === undefined
          ? undefined
          : new X509Certificate(Buffer.from(certificate, 'base64')),
    };
  };

  test("by the cluster's authority, with the requested usages", async () => {
    const authority = await makeAuthority(cluster.clock.now());
    await cluster.run((config) => new CertificateSigner({ ...config, authority }));
    const { certificate } = await sign('a', 'kube-apiserver-client', [
      'client auth',
      'digital signature',
    ]);
    const ca = new X509Certificate(authority.cert);
    expect(certificate?.verify(ca.publicKey)).toBe(true);
    expect(certificate?.checkIssued(ca)).toBe(true);
    expect(certificate?.subject).toBe('CN=jane\nO=dev');
    expect(certificate?.issuer).toBe('CN=test');
    expect(certificate?.ca).toBe(false);
    expect(certificate?.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(certificate?.subjectAltName).toBeUndefined();
    // A validity of one year that began five minutes ago.
    expect([certificate?.validFrom, certificate?.validTo]).toEqual([
      'Dec 31 23:55:00 2025 GMT',
      'Dec 31 23:55:00 2026 GMT',
    ]);
    const short = await sign('b', 'kube-apiserver-client', ['client auth'], {
      expirationSeconds: 3600,
    });
    expect([short.certificate?.validFrom, short.certificate?.validTo]).toEqual([
      'Dec 31 23:55:00 2025 GMT',
      'Jan  1 01:00:00 2026 GMT',
    ]);
    const long = await sign('c', 'kube-apiserver-client', ['client auth'], {
      expirationSeconds: 10 * 365 * 86_400,
    });
    expect(long.certificate?.validTo).toBe('Dec 31 23:55:00 2026 GMT');
    expect(
      new Set([certificate, short.certificate, long.certificate].map((each) => each?.serialNumber))
        .size,
    ).toBe(3);
  });

  test('for kubelets, with the names under which they serve', async () => {
    const authority = await makeAuthority(cluster.clock.now());
    await cluster.run(
      (config) => new CertificateSigner({ ...config, authority, maxDurationMs: 3_600_000 }),
    );
    const subject = 'O=system:nodes, CN=system:node:n1';
    const hosts: JsonGeneralName[] = [
      { type: 'dns', value: 'n1' },
      { type: 'ip', value: '10.0.0.1' },
      { type: 'ip', value: 'fd00::1' },
    ];
    const serving = await sign('serving', 'kubelet-serving', ['server auth', 'digital signature'], {
      subject,
      hosts,
    });
    expect(serving.certificate?.subjectAltName).toBe(
      'DNS:n1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
    );
    expect(serving.certificate?.checkHost('n1')).toBe('n1');
    expect(serving.certificate?.validTo).toBe('Jan  1 01:00:00 2026 GMT');
    const client = await sign(
      'client',
      'kube-apiserver-client-kubelet',
      ['client auth', 'digital signature'],
      {
        subject,
      },
    );
    expect(client.certificate?.subject).toBe('O=system:nodes\nCN=system:node:n1');
  });

  test.each([
    [
      'kube-apiserver-client',
      ['server auth'],
      'CN=x',
      'invalid usage for client certificate: server auth',
    ],
    [
      'kube-apiserver-client',
      ['digital signature'],
      'CN=x',
      'missing required usage for client certificate: client auth',
    ],
    [
      'kubelet-serving',
      ['server auth', 'digital signature'],
      'CN=x',
      'subject organization is not system:nodes',
    ],
    [
      'kubelet-serving',
      ['server auth', 'digital signature'],
      'O=system:nodes, CN=system:node:n',
      'DNS or IP subjectAltName is required',
    ],
    [
      'kube-apiserver-client-kubelet',
      ['server auth'],
      'O=system:nodes, CN=system:node:n',
      'usages did not match [client auth digital signature key encipherment] or [client auth digital signature]',
    ],
  ] as const)('%s does not sign %j for %s', async (signer, usages, subject, message) => {
    const authority = await makeAuthority(cluster.clock.now());
    await cluster.run((config) => new CertificateSigner({ ...config, authority }));
    const { status } = await sign('a', signer, [...usages], { subject });
    expect(status.certificate).toBeUndefined();
    expect(status.conditions?.[1]).toMatchObject({
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message,
    });
  });

  test('requests of unknown signers and unapproved requests are left alone', async () => {
    const authority = await makeAuthority(cluster.clock.now());
    await cluster.run((config) => new CertificateSigner({ ...config, authority }));
    const spec = { request: await requestFor('CN=x'), usages: ['client auth'] as KeyUsage[] };
    await requests().create({
      metadata: { name: 'open' },
      spec: { ...spec, signerName: 'kubernetes.io/kube-apiserver-client' },
    });
    await requests().create({
      metadata: { name: 'other' },
      spec: { ...spec, signerName: 'example.com/mine' },
    });
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }];
    await requests().patch(
      'other',
      'application/merge-patch+json',
      { status: { conditions } },
      { subresource: 'approval' },
    );
    await cluster.clock.advance('1m');
    for (const name of ['open', 'other'])
      expect((await requests().get(name)).status.certificate).toBeUndefined();
  });
});

describe('reaches the same outcome after every fault', () => {
  const create = async (target: TestCluster, name: string, request: string) => {
    const user = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
    const as = createClient(createInProcessTransport({ handler: target.server.inProcess(user) }));
    const usages: KeyUsage[] = ['client auth', 'digital signature'];
    const signerName = 'kubernetes.io/kube-apiserver-client-kubelet';
    await as
      .resource(certificateSigningRequests)
      .create({ metadata: { name }, spec: { request, signerName, usages } });
  };

  test.each(['approver', 'signer', 'cleaner'] as const)('the %s', async (which) => {
    const authority = await makeAuthority(Date.UTC(2026, 0, 1));
    const request = await requestFor('O=system:nodes, CN=system:node:n1');
    const makers = {
      approver: (config: ControllerConfig) => new CertificateApprover(config),
      signer: (config: ControllerConfig) => new CertificateSigner({ ...config, authority }),
      cleaner: (config: ControllerConfig) => new CertificateCleaner(config),
    };
    const { writes, outcome, disturbed } = await disturb({
      subject: makers[which],
      others: which === 'signer' ? [makers.approver] : [],
      steps: [
        (target) => create(target, 'a', request),
        async (target) => {
          await create(target, 'b', request);
          if (which !== 'cleaner') return;
          const status = {
            conditions: [{ type: 'Denied', status: 'True', reason: 'Test', message: '' }],
          };
          for (const name of ['a', 'b']) {
            await target.client
              .resource(certificateSigningRequests)
              .patch(name, 'application/merge-patch+json', { status }, { subresource: 'approval' });
          }
        },
      ],
      outcome: [certificateSigningRequests],
      rest: which === 'cleaner' ? '61m' : '1m',
    });
    expect(writes).toBe(which === 'approver' ? 4 : 2);
    expect(outcome).toHaveLength(which === 'cleaner' ? 0 : 2);
    // Every signature is different.
    const plain = (end: readonly unknown[]) =>
      JSON.parse(
        JSON.stringify(end).replaceAll(/"certificate":"[^"]*"/g, '"certificate":"…"'),
      ) as unknown;
    for (const [what, end] of disturbed) expect(plain(end), what).toEqual(plain(outcome));
  });
});
