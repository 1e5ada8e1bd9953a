import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import {
  initCertificates,
  nodeCertificate,
  roleKubeconfig,
  type KubeconfigRole,
} from './role-certificates.ts';

let dir: string;
let certDir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-certs-'));
  certDir = join(dir, 'pki');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const init = (hosts: readonly string[] = []) =>
  initCertificates({ certDir, hosts, serviceClusterIpRange: 'fd00:10:96::/112,10.96.0.0/16' });
const certificate = (name: string): X509Certificate =>
  new X509Certificate(readFileSync(join(certDir, `${name}.crt`)));

test('API servers are known by every name that they are given, and to pods', async () => {
  const files = await init(['api.example.org', '192.0.2.5']);
  expect(files).toEqual([
    'apiserver-kubelet-client.crt',
    'apiserver-kubelet-client.key',
    'apiserver.crt',
    'apiserver.key',
    'ca.crt',
    'ca.key',
    'front-proxy-ca.crt',
    'front-proxy-ca.key',
    'front-proxy-client.crt',
    'front-proxy-client.key',
    'sa.key',
    'sa.pub',
  ]);
  const server = certificate('apiserver');
  for (const name of ['api.example.org', 'localhost', 'kubernetes.default.svc'])
    expect(server.checkHost(name)).toBe(name);
  for (const ip of ['192.0.2.5', '127.0.0.1', 'fd00:10:96::1']) expect(server.checkIP(ip)).toBe(ip);
  expect(server.checkIssued(certificate('ca'))).toBe(true);
  expect(statSync(join(certDir, 'ca.key')).mode & 0o777).toBe(0o600);
});

test('what is there and still serves stays', async () => {
  await init(['192.0.2.5']);
  const [ca, server] = [certificate('ca'), certificate('apiserver')].map(
    ({ fingerprint256 }) => fingerprint256,
  );
  await init(['192.0.2.5']);
  expect(certificate('apiserver').fingerprint256).toBe(server);
  await init(['192.0.2.6']);
  expect(certificate('apiserver').fingerprint256).not.toBe(server);
  expect(certificate('ca').fingerprint256).toBe(ca);
});

describe('a kubeconfig', () => {
  const path = (): string => join(dir, 'role.conf');
  const write = (role: KubeconfigRole, more: { node?: string; server?: string } = {}) =>
    roleKubeconfig({ certDir, role, server: 'https://192.0.2.5:6443', path: path(), ...more });

  test.each([
    ['admin', undefined, 'O=system:masters\nCN=kubernetes-admin'],
    ['controller-manager', undefined, 'CN=system:kube-controller-manager'],
    ['scheduler', undefined, 'CN=system:kube-scheduler'],
    ['kubelet', 'worker-1', 'O=system:nodes\nCN=system:node:worker-1'],
    ['network-policy', undefined, 'CN=system:coxswain:network-policy'],
  ] as const)('of %s says who that is', async (role, node, subject) => {
    await init();
    await write(role, { node });
    const { server, ca, clientCertificate } = await loadKubeconfig(path());
    expect(server).toBe('https://192.0.2.5:6443');
    expect(ca).toBe(readFileSync(join(certDir, 'ca.crt'), 'utf8'));
    const client = new X509Certificate(clientCertificate as string);
    expect(client.subject).toBe(subject);
    expect(client.checkIssued(certificate('ca'))).toBe(true);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  test('needs an authority, an address, and a node where it is a node’s', async () => {
    await expect(write('admin')).rejects.toThrow(/cox certs init/);
    await init();
    await expect(write('admin', { server: '192.0.2.5:6443' })).rejects.toThrow(/--server takes/);
    await expect(write('admin', { server: 'http://192.0.2.5' })).rejects.toThrow(/--server takes/);
    await expect(write('kubelet')).rejects.toThrow(/--node NAME/);
    await expect(write('kubelet', { node: 'Not a name' })).rejects.toThrow(/no name of a node/);
    await expect(write('scheduler', { node: 'worker-1' })).rejects.toThrow(
      /--node is for the role kubelet/,
    );
  });
});

test('a node serves by its name and its addresses', async () => {
  await init();
  expect(await nodeCertificate({ certDir, node: 'worker-1', hosts: ['192.0.2.7'] })).toEqual([
    'kubelet-worker-1.crt',
    'kubelet-worker-1.key',
  ]);
  const serving = certificate('kubelet-worker-1');
  expect([serving.checkHost('worker-1'), serving.checkIP('192.0.2.7')]).toEqual([
    'worker-1',
    '192.0.2.7',
  ]);
});
