// Flags of `cox kubelet` about its own server: each is tried on a node of an API server.

import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { serviceAccounts } from '#api/groups/core/v1/index.ts';
import { type Clock, systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import {
  initCertificates,
  nodeCertificate,
  roleKubeconfig,
} from '../credentials/role-certificates.ts';
import { Pki } from '../credentials/pki.ts';
import { clientFor } from './role.ts';
import { readKubeconfig } from '../flags/flag-files.ts';
import { type RunningApiServer, startApiServerRole } from './api-server.ts';
import { type KubeletRoleConfig, type RunningKubelet, startKubeletRole } from './kubelet.ts';

let dir: string;
let server: RunningApiServer;
let kubelet: RunningKubelet | undefined;
let node: KubeletRoleConfig;
/** Identity that has no rights: a certificate of the cluster's authority. */
let unprivileged: { readonly cert: string; readonly key: string };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cox-kubelet-role-'));
  const certDir = join(dir, 'pki');
  const common = { clock: systemClock, random: systemRandom, logger: silentLogger };
  await initCertificates({ certDir, hosts: ['127.0.0.1'], serviceClusterIpRange: '10.96.0.0/16' });
  await nodeCertificate({ certDir, hosts: ['127.0.0.1'], node: 'worker' });
  const api = {
    store: 'memory',
    etcd: { servers: [] },
    certDir,
    bindAddress: '127.0.0.1',
    securePort: 0,
  } as const;
  server = await startApiServerRole({ ...common, ...api });
  const kubeconfig = join(dir, 'kubelet.conf');
  await roleKubeconfig({
    certDir,
    server: server.url,
    node: 'worker',
    role: 'kubelet',
    path: kubeconfig,
  });
  const pki = await Pki.open({ ...common, dir: certDir });
  unprivileged = await pki.sign({ commonName: 'unprivileged', usage: 'client' });
  node = {
    ...common,
    certDir,
    kubeconfig,
    hostnameOverride: 'worker',
    dataDir: join(dir, 'data'),
    runtime: 'simulated',
    install: false,
    address: '127.0.0.1',
    port: 0,
    healthzPort: 0,
    podCidr: '10.244.1.0/24',
    progress: () => undefined,
    signal: new AbortController().signal,
  };
});
afterEach(async () => {
  await kubelet?.stop();
  kubelet = undefined;
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function start(flags: Partial<KubeletRoleConfig>, clock: Clock = systemClock): Promise<void> {
  kubelet = await startKubeletRole({ ...node, clock, ...flags });
}

function codeOf(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  identity: object = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: kubelet?.port,
      path,
      headers,
      rejectUnauthorized: false,
      agent: false,
      ...identity,
    };
    const sent = request(options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The serial number of the certificate that the kubelet shows. */
function serial(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', port: kubelet?.port ?? 0, rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
}

test('authorization: by the API server unless every authenticated user may do everything', async () => {
  await start({});
  expect([await codeOf('/pods'), await codeOf('/pods', {}, unprivileged)]).toEqual([401, 403]);
  await kubelet?.stop();
  await start({ authorizationMode: 'AlwaysAllow' });
  expect([await codeOf('/pods'), await codeOf('/pods', {}, unprivileged)]).toEqual([401, 200]);
});

test('bearer tokens identify users unless they are switched off', async () => {
  const path = join(dir, 'admin.conf');
  await roleKubeconfig({ certDir: join(dir, 'pki'), server: server.url, role: 'admin', path });
  const client = clientFor(await readKubeconfig('--kubeconfig', path), 'test', node);
  await client
    .resource(serviceAccounts)
    .namespace('default')
    .create({ metadata: { name: 'joe' } });
  const { status } = await client.transport.request<{ status: { token: string } }>({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/joe/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const headers = { authorization: `Bearer ${status.token}` };
  await start({ authorizationMode: 'AlwaysAllow' });
  expect(await codeOf('/pods', headers)).toBe(200);
  await kubelet?.stop();
  await start({ authorizationMode: 'AlwaysAllow', authenticationTokenWebhook: false });
  expect([await codeOf('/pods', headers), await codeOf('/pods', {}, unprivileged)]).toEqual([
    401, 200,
  ]);
});

test('an authorization mode that does not exist', async () => {
  await expect(start({ authorizationMode: 'Always' as 'Webhook' })).rejects.toThrow(
    'unknown authorization mode "Always"',
  );
});

/**
 * The version of TLS and the cipher suite that a client with these limits gets; undefined if there
 * is no connection.
 */
function negotiated(
  limits: ConnectionOptions,
): Promise<readonly [version: string | null, suite: string] | undefined> {
  return new Promise((resolve) => {
    const socket = connect(
      { host: '127.0.0.1', port: kubelet?.port ?? 0, rejectUnauthorized: false, ...limits },
      () => {
        resolve([socket.getProtocol(), socket.getCipher().name]);
        socket.destroy();
      },
    );
    socket.on('error', () => resolve(undefined));
  });
}

test('versions of TLS and cipher suites', async () => {
  await start({ tlsMinVersion: 'VersionTLS13' });
  expect(await negotiated({ maxVersion: 'TLSv1.2' })).toBeUndefined();
  expect((await negotiated({}))?.[0]).toBe('TLSv1.3');
  await kubelet?.stop();
  await start({ tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] });
  expect(await negotiated({ maxVersion: 'TLSv1.2' })).toEqual([
    'TLSv1.2',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
  ]);
  expect(
    await negotiated({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }),
  ).toBeUndefined();
  await kubelet?.stop();
  await start({ tlsCurvePreferences: [23] });
  expect(await negotiated({ ecdhCurve: 'P-384' })).toBeUndefined();
  expect(await negotiated({ ecdhCurve: 'P-256' })).toBeDefined();
  await kubelet?.stop();
  await expect(start({ tlsMinVersion: 'VersionTLS11' })).rejects.toThrow(
    '--tls-min-version: "VersionTLS11" is not supported',
  );
});

test('a serving certificate that was replaced is taken into use', async () => {
  const clock = new VirtualClock();
  await start({ tlsMinVersion: 'VersionTLS13' }, clock);
  const before = await serial();
  const other = join(dir, 'other');
  const hosts = ['127.0.0.1'];
  await initCertificates({ certDir: other, hosts, serviceClusterIpRange: '10.96.0.0/16' });
  await nodeCertificate({ certDir: other, hosts, node: 'worker' });
  // A certificate without its key is not taken.
  copyFileSync(join(other, 'kubelet-worker.crt'), join(dir, 'pki', 'kubelet-worker.crt'));
  await clock.advance('1m');
  expect(await serial()).toBe(before);
  copyFileSync(join(other, 'kubelet-worker.key'), join(dir, 'pki', 'kubelet-worker.key'));
  await clock.advance('1m');
  expect(await serial()).not.toBe(before);
  expect(await negotiated({ maxVersion: 'TLSv1.2' })).toBeUndefined();
});

test('a kubelet without a serving certificate makes one itself, once', async () => {
  const certDir = join(dir, 'own');
  const flags = { certDir, clientCaFile: join(dir, 'pki', 'ca.crt') };
  await start(flags);
  const made = readFileSync(join(certDir, 'kubelet.crt'), 'utf8');
  const certificate = new X509Certificate(made);
  expect(certificate.subject).toMatch(/^CN=worker@\d+$/);
  expect(certificate.issuer).toMatch(/^CN=worker-ca@\d+$/);
  expect(certificate.checkHost('worker')).toBe('worker');
  // The authority's certificate follows.
  expect(made.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  const presented = await new Promise<string>((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', port: kubelet?.port ?? 0, rejectUnauthorized: false },
      () => {
        resolve(String(socket.getPeerX509Certificate()?.fingerprint256));
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
  expect(presented).toBe(certificate.fingerprint256);
  await kubelet?.stop();
  await start(flags);
  expect(readFileSync(join(certDir, 'kubelet.crt'), 'utf8')).toBe(made);
  await kubelet?.stop();
  kubelet = undefined;
  rmSync(join(certDir, 'kubelet.key'));
  await expect(start(flags)).rejects.toThrow(
    `error reading ${join(certDir, 'kubelet.key')}, certificate and key must be supplied as a pair`,
  );
});
