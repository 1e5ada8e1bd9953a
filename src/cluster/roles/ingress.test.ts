import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ingressClasses } from '#api/groups/networking/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import { systemRandom } from '#machinery/random.ts';
import { startCluster, type EmbeddedCluster } from '../index.ts';
import { ingressPermissionsYaml, type IngressRoleConfig, startIngressRole } from './ingress.ts';

let cluster: EmbeddedCluster;
let dir: string;
let config: IngressRoleConfig;
const taken: Server = createServer();
let takenPort: number;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'ingress-role-'));
  cluster = await startCluster({ nodes: 0, port: 0 });
  writeFileSync(join(dir, 'ingress.conf'), cluster.kubeconfig as string);
  await new Promise<void>((resolve) => void taken.listen({ host: '127.0.0.1', port: 0 }, resolve));
  takenPort = (taken.address() as AddressInfo).port;
  config = {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    kubeconfig: join(dir, 'ingress.conf'),
    addresses: ['127.0.0.1'],
    httpPort: await freePort(),
    httpsPort: await freePort(),
    updateStatus: true,
  };
});
afterAll(async () => {
  taken.close();
  await cluster.stop();
  rmSync(dir, { recursive: true });
});

test('serves, makes its class, and has metrics', async () => {
  const metricsPort = await freePort();
  const role = await startIngressRole({ ...config, metricsPort });
  try {
    await expect
      .poll(() => fetch(`http://127.0.0.1:${config.httpPort}/`).then(({ status }) => status))
      .toBe(404);
    const created = await cluster.client.resource(ingressClasses).get('coxswain');
    expect(created.spec.controller).toBe('coxswain.io/ingress-controller');
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toMatch(
      /coxswain_ingress_requests_total\{code="404",protocol="HTTP\/1.1"\} \d/,
    );
    expect((await fetch(`http://127.0.0.1:${metricsPort}/other`)).status).toBe(404);
  } finally {
    await role.stop();
  }
  await expect(fetch(`http://127.0.0.1:${config.httpPort}/`)).rejects.toThrow();
});

test.each([
  [{ addresses: ['192.0.2.7'] }, '--bind-address: 192.0.2.7 is no address of this machine'],
  [
    { gatewayAddresses: ['10.0.0.0/40'] },
    '--gateway-addresses: "10.0.0.0/40" is no address or range',
  ],
  [{ trustedProxies: ['a'] }, '--trusted-proxies: "a" is no address or range'],
  [{ httpPort: 7, httpsPort: 7 }, '--http-port and --https-port must differ'],
])('%j is refused', async (options, message) => {
  await expect(startIngressRole({ ...config, ...options })).rejects.toThrow(message);
});

test('a port that is in use is refused', async () => {
  const message =
    `the ingress cannot have port ${takenPort} of 127.0.0.1, which is in use: choose another ` +
    'with --https-port';
  await expect(startIngressRole({ ...config, httpsPort: takenPort })).rejects.toThrow(message);
});

test('the permissions are YAML to apply', async () => {
  const yaml = await ingressPermissionsYaml();
  expect(yaml).toMatch(/kind: ClusterRole\n[^]*---\n[^]*kind: ClusterRoleBinding\n/);
  expect(yaml).toContain('system:coxswain-ingress');
});
