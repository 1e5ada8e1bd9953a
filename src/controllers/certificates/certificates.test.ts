import 'reflect-metadata';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { certificateSigningRequests } from '../../api/certificates/v1/index.ts';
import { createClient } from '../../client/create-client.ts';
import { createInProcessTransport } from '../../client/in-process.ts';
import { startTestCluster } from '../testing/test-cluster.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { CertificateApprover, CertificateCleaner } from './index.ts';

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const requestFor = async (name: string): Promise<string> => {
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const made = await Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: EC });
  return Buffer.from(made.toString('pem')).toString('base64');
};

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const ask = async (name: string, subject: string, user: string, groups: readonly string[]): Promise<void> => {
  const handler = cluster.server.inProcess({ name: user, groups: [...groups, 'system:authenticated'] });
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
  (await cluster.client.resource(certificateSigningRequests).get(name)).status.conditions?.map(({ type, reason, message }) => [
    type,
    reason,
    message,
  ]);

test('kubelets get what is theirs, and nobody anything else', async () => {
  await cluster.run((config) => new CertificateApprover(config));
  await ask('own', 'O=system:nodes, CN=system:node:n1', 'system:node:n1', ['system:nodes']);
  await ask('other', 'O=system:nodes, CN=system:node:n2', 'system:node:n1', ['system:nodes']);
  await ask('bootstrapped', 'O=system:nodes, CN=system:node:n3', 'admin', ['system:masters']);
  await ask('odd', 'O=others, CN=system:node:n1', 'system:node:n1', ['system:nodes']);
  await cluster.clock.advance('1s');
  expect(await conditionsOf('own')).toEqual([
    ['Approved', 'AutoApproved', 'Auto approving self kubelet client certificate after SubjectAccessReview.'],
  ]);
  expect(await conditionsOf('other')).toBeUndefined();
  expect(await conditionsOf('bootstrapped')).toEqual([
    ['Approved', 'AutoApproved', 'Auto approving kubelet client certificate after SubjectAccessReview.'],
  ]);
  expect(await conditionsOf('odd')).toBeUndefined();
});

test('requests go a day after they were made or approved, and an hour after they were denied', async () => {
  const requests = cluster.client.resource(certificateSigningRequests);
  await cluster.run((config) => new CertificateCleaner(config));
  for (const name of ['pending', 'denied', 'approved']) await ask(name, 'CN=x', 'admin', ['system:masters']);
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
