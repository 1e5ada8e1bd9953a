// A kubelet that joins by a bootstrap token, and certificates that it rotates: with an API server
// and a controller manager of their own, over TLS. The kubelet's clock is virtual, so that the
// lifetime of a certificate passes in a moment.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes, secrets } from '#api/groups/core/v1/index.ts';
import { clusterRoleBindings } from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import { CLIENT_PREFIX, PairStore } from '#kubelet/certificates/index.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import {
  initCertificates,
  nodeCertificate,
  roleKubeconfig,
} from '../../credentials/role-certificates.ts';
import { Pki } from '../../credentials/pki.ts';
import { startControllerManagerRole } from '../controller-manager.ts';
import { type RunningApiServer, startApiServerRole } from '../api-server.ts';
import type { RunningControlRole } from '../control-role.ts';
import { type KubeletRoleConfig, type RunningKubelet, startKubeletRole } from '../kubelet.ts';
import { clientFor } from '../role.ts';
import { readKubeconfig } from '../../flags/flag-files.ts';

const NODE = 'worker';
const TOKEN = 'abcdef.0123456789abcdef';
const LIMIT_MS = 60_000;
const common = { clock: systemClock, random: systemRandom, logger: silentLogger };

let dir: string;
let server: RunningApiServer;
let manager: RunningControlRole;
let admin: Client;
let clock: VirtualClock;
let kubelet: RunningKubelet | undefined;
let caCertificate: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cox-rotation-'));
  const certDir = join(dir, 'pki');
  await initCertificates({ certDir, hosts: ['127.0.0.1'], serviceClusterIpRange: '10.96.0.0/16' });
  await nodeCertificate({ certDir, hosts: ['127.0.0.1'], node: NODE });
  server = await startApiServerRole({
    ...common,
    store: 'memory',
    etcd: { servers: [] },
    certDir,
    bindAddress: '127.0.0.1',
    securePort: 0,
    enableBootstrapTokenAuth: true,
  });
  const conf = (role: string): string => join(dir, `${role}.conf`);
  for (const role of ['admin', 'controller-manager'] as const)
    await roleKubeconfig({ certDir, server: server.url, role, path: conf(role) });
  admin = clientFor(await readKubeconfig('--kubeconfig', conf('admin')), 'test', common);
  caCertificate = readFileSync(join(certDir, 'ca.crt'), 'utf8');
  manager = await startControllerManagerRole({
    ...common,
    kubeconfig: conf('controller-manager'),
    certDir,
    controllers: [
      'certificatesigningrequest-approving-controller',
      'certificatesigningrequest-signing-controller',
    ],
    clusterSigningCertFile: join(certDir, 'ca.crt'),
    clusterSigningKeyFile: join(certDir, 'ca.key'),
    clusterSigningDuration: 3600_000,
    bindAddress: '127.0.0.1',
    securePort: 0,
  });
  await admin
    .resource(secrets)
    .namespace('kube-system')
    .create({
      metadata: { name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: {
        'token-id': 'abcdef',
        'token-secret': '0123456789abcdef',
        'usage-bootstrap-authentication': 'true',
        'auth-extra-groups': 'system:bootstrappers:workers',
      },
    });
  const bind = (name: string, role: string, group: string): Promise<unknown> =>
    admin.resource(clusterRoleBindings).create({
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
    });
  const requests = 'system:certificates.k8s.io:certificatesigningrequests';
  await bind('bootstrap', 'system:node-bootstrapper', 'system:bootstrappers:workers');
  await bind('approve-bootstrap', `${requests}:nodeclient`, 'system:bootstrappers:workers');
  await bind('approve-rotation', `${requests}:selfnodeclient`, 'system:nodes');
  writeFileSync(
    conf('bootstrap'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'c',
          cluster: {
            server: server.url,
            'certificate-authority-data': Buffer.from(caCertificate).toString('base64'),
          },
        },
      ],
      users: [{ name: 'u', user: { token: TOKEN } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
});
afterEach(async () => {
  const stopping = kubelet?.stop();
  kubelet = undefined;
  await stopping;
  for (const { metadata } of (await admin.resource(certificateSigningRequests).list()).items)
    await admin.resource(certificateSigningRequests).delete(metadata.name);
});
afterAll(async () => {
  await manager?.stop();
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A kubelet with files of its own. */
function configOf(name: string, flags: Partial<KubeletRoleConfig>): KubeletRoleConfig {
  clock = new VirtualClock({ start: systemClock.now() });
  const own = join(dir, name);
  return {
    ...common,
    clock,
    certDir: join(own, 'pki'),
    kubeconfig: join(own, 'kubelet.conf'),
    bootstrapKubeconfig: join(dir, 'bootstrap.conf'),
    tlsCertFile: join(dir, 'pki', `kubelet-${NODE}.crt`),
    tlsPrivateKeyFile: join(dir, 'pki', `kubelet-${NODE}.key`),
    clientCaFile: join(dir, 'pki', 'ca.crt'),
    hostnameOverride: NODE,
    nodeIp: '127.0.0.1',
    dataDir: join(own, 'data'),
    runtime: 'simulated',
    install: false,
    address: '127.0.0.1',
    port: 0,
    podCidr: '10.244.1.0/24',
    progress: () => undefined,
    signal: new AbortController().signal,
    ...flags,
  };
}

/** Waits for a condition while the kubelet's time passes. */
async function eventually<T>(
  get: () => Promise<T | undefined> | T | undefined,
  stepMs = 1000,
): Promise<T> {
  let found: T | undefined;
  const limits = { clock: systemClock, intervalMs: 10, timeoutMs: LIMIT_MS };
  await wait.pollImmediately(limits, async () => {
    await clock.advance(stepMs);
    found = await get();
    return found !== undefined;
  });
  return found as T;
}

async function start(config: KubeletRoleConfig): Promise<RunningKubelet> {
  const starting = startKubeletRole(config);
  let started: RunningKubelet | undefined;
  let failure: unknown;
  starting.then(
    (running) => (started = running),
    (error: unknown) => (failure = error),
  );
  kubelet = await eventually(() => {
    if (failure !== undefined) throw failure;
    return started;
  });
  return kubelet;
}

const current = (config: KubeletRoleConfig, prefix = 'kubelet-client'): string =>
  readFileSync(join(config.certDir ?? '', `${prefix}-current.pem`), 'utf8');
const requestsOf = async () =>
  (await admin.resource(certificateSigningRequests).list()).items.toSorted(
    (a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion),
  );
/** The identity of the credentials with which a request was made. */
const credentialOf = (pem: string): string =>
  `X509SHA256=${new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase()}`;

test('a node joins by a token, and its requests are made with each new certificate', async () => {
  const config = configOf('rotating', { rotateCertificates: true });
  await start(config);
  expect((await admin.resource(nodes).get(NODE)).metadata.name).toBe(NODE);
  expect(readFileSync(config.kubeconfig, 'utf8')).toContain('kubelet-client-current.pem');
  const [request] = await requestsOf();
  expect(request?.spec).toMatchObject({
    username: 'system:bootstrap:abcdef',
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  });
  // Within an hour the certificate is replaced, and soon again: the signer's clock stands still, so
  // that all certificates end at the same time.
  await clock.advance(1800_000);
  const requests = await eventually(async () => {
    const all = await requestsOf();
    return all.length < 3 ? undefined : all;
  }, 10_000);
  const issued = requests.map(({ status }) =>
    Buffer.from(status.certificate ?? '', 'base64').toString('utf8'),
  );
  for (const [index, { spec }] of requests.entries()) {
    if (index === 0) continue;
    expect(spec.username).toBe('system:node:worker');
    expect(spec.extra).toMatchObject({
      'authentication.kubernetes.io/credential-id': [credentialOf(issued[index - 1]!)],
    });
  }
  // The kubelet goes on with each of them.
  const renewTime = async (): Promise<string> => {
    const { spec } = await admin.resource(leases).namespace('kube-node-lease').get(NODE);
    return String(spec?.renewTime);
  };
  const before = await renewTime();
  await eventually(async () => (await renewTime()) !== before || undefined);
});

test('a node that was off longer than its certificate was valid joins again', async () => {
  const config = configOf('off', { rotateCertificates: true });
  await start(config);
  await kubelet?.stop();
  const twoYearsAgo = new VirtualClock({ start: systemClock.now() - 730 * 86_400_000 });
  const pki = await Pki.open({ ...common, clock: twoYearsAgo, dir: join(dir, 'pki') });
  const expired = await pki.sign({
    commonName: `system:node:${NODE}`,
    organizations: ['system:nodes'],
    usage: 'client',
  });
  new PairStore({ clock, directory: config.certDir ?? '', prefix: CLIENT_PREFIX }).update(
    expired.cert,
    expired.key,
  );
  await start({ ...config, clock });
  expect(current(config)).not.toContain(expired.key);
  expect((await requestsOf()).map(({ spec }) => spec.username)).toEqual([
    'system:bootstrap:abcdef',
    'system:bootstrap:abcdef',
  ]);
});

test('without rotation the first certificate is requested once, under a name of its key', async () => {
  const config = configOf('once', {});
  await start(config);
  const first = current(config);
  const [request, ...more] = await requestsOf();
  expect(more).toEqual([]);
  expect(request?.metadata.name).toMatch(/^node-csr-[\w-]{43}$/);
  expect(existsSync(join(config.certDir ?? '', 'kubelet-client.key.tmp'))).toBe(false);
  await kubelet?.stop();
  await start({ ...config, clock });
  await clock.advance(3600_000 * 2);
  expect(current(config)).toBe(first);
  expect(await requestsOf()).toHaveLength(1);
});

test('without a usable kubeconfig nothing starts', async () => {
  const config = configOf('none', { rotateCertificates: true });
  await expect(startKubeletRole({ ...config, bootstrapKubeconfig: undefined })).rejects.toThrow(
    '--kubeconfig: cannot read the kubeconfig',
  );
  await expect(
    startKubeletRole({ ...config, bootstrapKubeconfig: join(dir, 'absent.conf') }),
  ).rejects.toThrow('--bootstrap-kubeconfig: cannot read the kubeconfig');
  await expect(
    startKubeletRole({
      ...config,
      rotateServerCertificates: true,
      featureGates: 'RotateKubeletServerCertificate=false',
    }),
  ).rejects.toThrow('serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate');
});

/** Returns the names in the kubelet's serving certificate, or 'error CODE'. */
const peer = (): Promise<string> =>
  new Promise((resolve) => {
    const port = kubelet?.port ?? 0;
    const socket = connect({ host: '127.0.0.1', port, ca: caCertificate }, () => {
      resolve(String(socket.getPeerX509Certificate()?.subjectAltName));
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`error ${error.code}`));
  });

/** Approves the kubelet's request, and returns the names of the certificate that it serves then. */
async function approveServing(): Promise<string> {
  const pending = await eventually(async () =>
    (await requestsOf()).find(({ spec }) => spec.signerName === 'kubernetes.io/kubelet-serving'),
  );
  expect(pending.status.conditions).toBeUndefined();
  await admin
    .resource(certificateSigningRequests)
    .patch(
      pending.metadata.name,
      'application/merge-patch+json',
      { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Test' }] } },
      { subresource: 'approval' },
    );
  return eventually(async () => {
    const names = await peer();
    return names.startsWith('error') ? undefined : names;
  });
}

test('a serving certificate is used once an administrator has approved it', async () => {
  const config = configOf('serving', {
    rotateCertificates: true,
    rotateServerCertificates: true,
    tlsCertFile: undefined,
    tlsPrivateKeyFile: undefined,
  });
  await start(config);
  expect(await peer()).toContain('error');
  const served = await approveServing();
  expect(served).toBe('DNS:worker, IP Address:127.0.0.1');
  expect(current(config, 'kubelet-server')).toContain('PRIVATE KEY');
});

test('a serving certificate that has expired is not presented', async () => {
  const config = configOf('expired', {
    rotateServerCertificates: true,
    tlsCertFile: undefined,
    tlsPrivateKeyFile: undefined,
  });
  await start(config);
  await approveServing();
  // The next request is not approved.
  await clock.advance(3_700_000);
  expect(await peer()).toContain('error');
  await kubelet?.stop();
  await start({ ...config, clock });
  expect(await peer()).toContain('error');
});
