// The rotation of certificates, with the API server and the controllers that approve and sign.

import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import type { RequestTemplate } from '#api/groups/certificates/v1/make-request.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { CertificateApprover, CertificateSigner } from '#controllers/certificates/index.ts';
import { makeAuthority } from '#controllers/certificates/testing/authority.ts';
import { startTestCluster, type TestCluster } from '#controllers/testing/test-cluster.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { CertificateManager } from './certificate-manager.ts';
import { clientCertificateManager } from './client-certificate.ts';
import type { IssuedPair } from './issued-pair.ts';
import { PairStore } from './pair-store.ts';
import { servingCertificateManager, servingTemplate } from './serving-certificate.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BOOTSTRAPPER = {
  name: 'system:bootstrap:abcdef',
  groups: ['system:bootstrappers', 'system:masters', 'system:authenticated'],
};
const NODE = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };

let cluster: TestCluster;
let dir: string;
let stop: AbortController;
let running: Promise<void> | undefined;
/** The clients that the manager has opened, in order: with which certificate. */
let openedWith: (IssuedPair | undefined)[];
let failures: number;
let ages: number[];

beforeEach(async () => {
  cluster = await startTestCluster();
  dir = mkdtempSync(join(tmpdir(), 'cox-certificates-'));
  stop = new AbortController();
  [openedWith, failures, ages] = [[], 0, []];
});
afterEach(async () => {
  stop.abort();
  await running;
  running = undefined;
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});

const clientAs = (user: typeof NODE): Client =>
  createClient(createInProcessTransport({ handler: cluster.server.inProcess(user) }));
const store = (prefix = 'kubelet-client'): PairStore =>
  new PairStore({ clock: cluster.clock, directory: dir, prefix });
const requests = async () =>
  (await cluster.client.resource(certificateSigningRequests).list()).items;

const common = () => ({
  clock: cluster.clock,
  random: new SeededRandom('rotation'),
  logger: cluster.logger,
  observer: {
    renewalFailed: () => void failures++,
    rotated: (seconds: number) => void ages.push(seconds),
  },
  openClient: (current: IssuedPair | undefined) => {
    openedWith.push(current);
    const client = clientAs(current === undefined ? BOOTSTRAPPER : NODE);
    return { client, close: () => undefined };
  },
});
const clientManager = (bootstrap?: {
  readonly cert: string;
  readonly key: string;
}): CertificateManager =>
  clientCertificateManager({
    ...common(),
    nodeName: 'n1',
    store: store(),
    ...(bootstrap !== undefined && { bootstrap }),
  });

async function startControllers(maxDurationMs = HOUR): Promise<void> {
  const authority = await makeAuthority(cluster.clock.now());
  await cluster.run((config) => new CertificateApprover(config));
  await cluster.run((config) => new CertificateSigner({ ...config, authority, maxDurationMs }));
}

function run(manager: CertificateManager): void {
  running = manager.run(stop.signal);
}

/** Advances the clock in steps until the condition holds. */
async function until(condition: () => boolean, stepMs = 1000, limit = 4000): Promise<void> {
  for (let step = 0; step < limit && !condition(); step++) await cluster.clock.advance(stepMs);
  expect(condition()).toBe(true);
}

test('the first certificate is requested with other credentials, later ones with it', async () => {
  await startControllers();
  const manager = clientManager();
  expect(manager.current).toBeUndefined();
  const changes: string[] = [];
  manager.onChange(({ cert }) => changes.push(cert));
  run(manager);
  await until(() => manager.current !== undefined);
  const first = manager.current!;
  expect(first.leaf.subject).toBe('O=system:nodes\nCN=system:node:n1');
  expect(openedWith).toEqual([undefined]);
  // 70 to 90 % of a lifetime that began five minutes before.
  const at = (share: number): number =>
    first.notBefore + share * (first.notAfter - first.notBefore);
  await cluster.clock.advance(at(0.69) - cluster.clock.now());
  expect(manager.current).toBe(first);
  await cluster.clock.advance(at(0.91) - cluster.clock.now());
  const second = manager.current!;
  expect(second.cert).not.toBe(first.cert);
  expect(second.key).not.toBe(first.key);
  expect(openedWith).toEqual([undefined, first]);
  expect(changes).toEqual([first.cert, second.cert]);
  expect(ages).toHaveLength(1);
  expect([ages[0]! >= 0.7 * 65 * 60, ages[0]! <= 0.91 * 65 * 60]).toEqual([true, true]);
  expect((await requests()).map(({ spec }) => spec.username)).toEqual(
    expect.arrayContaining([BOOTSTRAPPER.name, NODE.name]),
  );
  for (const { metadata, spec } of await requests()) {
    expect(metadata.generateName).toBe('csr-');
    expect(spec.signerName).toBe('kubernetes.io/kube-apiserver-client-kubelet');
    expect(spec.usages).toEqual(['digital signature', 'client auth']);
  }
});

test('the files are those of upstream: one for each pair, and a link to the current one', async () => {
  await startControllers();
  const manager = clientManager();
  run(manager);
  await until(() => manager.current !== undefined);
  const files = readdirSync(dir).toSorted();
  expect(files).toEqual([
    expect.stringMatching(/^kubelet-client-\d{4}(-\d\d){5}\.pem$/),
    'kubelet-client-current.pem',
  ]);
  expect(readlinkSync(join(dir, 'kubelet-client-current.pem'))).toBe(join(dir, files[0]!));
  // The next process begins with it.
  expect(clientManager().current).toMatchObject({
    cert: manager.current?.cert,
    key: manager.current?.key,
  });
  expect(openedWith).toHaveLength(1);
});

test('a certificate that has expired is not used: another one is requested as at the first time', async () => {
  await startControllers();
  const manager = clientManager();
  run(manager);
  await until(() => manager.current !== undefined);
  stop.abort();
  await running;
  await cluster.clock.advance(2 * HOUR);
  expect(manager.current).toBeUndefined();
  stop = new AbortController();
  const next = clientManager();
  expect(next.current).toBeUndefined();
  run(next);
  await until(() => next.current !== undefined);
  expect(openedWith).toEqual([undefined, undefined]);
});

test('the pair of a kubeconfig is stored, used, and replaced at once', async () => {
  await startControllers();
  const first = clientManager();
  run(first);
  await until(() => first.current !== undefined);
  const bootstrap = { cert: first.current!.cert, key: first.current!.key };
  stop.abort();
  await running;
  rmSync(dir, { recursive: true });
  stop = new AbortController();
  const manager = clientManager(bootstrap);
  expect(manager.current).toMatchObject(bootstrap);
  expect(store().current()).toMatchObject(bootstrap);
  run(manager);
  await until(() => manager.current?.cert !== bootstrap.cert);
  expect(openedWith.at(-1)).toMatchObject(bootstrap);
});

test('a server that rejects requests is asked again, at most every 32 seconds', async () => {
  const manager = clientCertificateManager({
    ...common(),
    nodeName: 'n1',
    store: store(),
    openClient: () => {
      openedWith.push(undefined);
      return {
        client: clientAs({ name: 'nobody', groups: ['system:authenticated'] }),
        close: () => undefined,
      };
    },
  });
  run(manager);
  await cluster.clock.advance(40_000);
  expect(openedWith).toHaveLength(5);
  expect(failures).toBe(5);
  // The server has decided, so it is there.
  expect(manager.serverHealthy).toBe(true);
  await cluster.clock.advance(320_000);
  expect(openedWith.length).toBeGreaterThanOrEqual(14);
  expect(openedWith.length).toBeLessThanOrEqual(15);
});

test.each([
  ['Denied', 'certificate signing request is denied, reason: No, message: not this node'],
  ['Failed', 'certificate signing request failed, reason: No, message: not this node'],
])('a request that is %s is repeated as another one', async (type, message) => {
  const manager = clientManager();
  run(manager);
  await cluster.clock.advance(1000);
  const [request] = await requests();
  const condition = { type, status: 'True', reason: 'No', message: 'not this node' };
  await cluster.client
    .resource(certificateSigningRequests)
    .patch(
      request!.metadata.name,
      'application/merge-patch+json',
      { status: { conditions: [condition] } },
      { subresource: type === 'Failed' ? 'status' : 'approval' },
    );
  await cluster.clock.advance(5000);
  expect(await requests()).toHaveLength(2);
  expect(String(cluster.logger.records.map(({ values }) => values['err']))).toContain(message);
});

test('a deleted request is repeated at once; one that is not signed, after 15 minutes', async () => {
  const manager = clientManager();
  run(manager);
  await cluster.clock.advance(1000);
  const [request] = await requests();
  await cluster.client.resource(certificateSigningRequests).delete(request!.metadata.name);
  await cluster.clock.advance(4000);
  expect(await requests()).toHaveLength(1);
  await cluster.clock.advance(14 * MINUTE);
  expect(await requests()).toHaveLength(1);
  await cluster.clock.advance(2 * MINUTE);
  expect((await requests()).length).toBeGreaterThan(1);
});

test('serving certificates wait for approval, and follow the addresses of the node', async () => {
  await startControllers();
  let addresses: { readonly type: string; readonly address: string }[] = [];
  const manager = servingCertificateManager({
    ...common(),
    nodeName: 'n1',
    store: store('kubelet-server'),
    addresses: () => addresses,
    openClient: () => ({ client: clientAs(NODE), close: () => undefined }),
  });
  run(manager);
  await cluster.clock.advance(MINUTE);
  // Nothing is requested as long as the node has no address.
  expect(await requests()).toEqual([]);
  addresses = [
    { type: 'InternalIP', address: '10.0.0.7' },
    { type: 'Hostname', address: 'n1' },
  ];
  manager.templateChanged();
  await cluster.clock.advance(MINUTE);
  const approve = async (): Promise<void> => {
    for (const { metadata, status } of await requests()) {
      if (status.conditions !== undefined) continue;
      await cluster.client
        .resource(certificateSigningRequests)
        .patch(
          metadata.name,
          'application/merge-patch+json',
          { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Test' }] } },
          { subresource: 'approval' },
        );
    }
  };
  expect(manager.current).toBeUndefined();
  await approve();
  await until(() => manager.current !== undefined);
  const first = manager.current!;
  expect(first.leaf.subjectAltName).toBe('DNS:n1, IP Address:10.0.0.7');
  // An address that is gone needs no other certificate; a new one does.
  addresses = [{ type: 'InternalIP', address: '10.0.0.7' }];
  manager.templateChanged();
  await cluster.clock.advance(5000);
  expect(await requests()).toHaveLength(1);
  addresses = [
    { type: 'InternalIP', address: '10.0.0.8' },
    { type: 'Hostname', address: 'n1' },
  ];
  manager.templateChanged();
  await cluster.clock.advance(5000);
  // While that request waits, the addresses change again: it is given up.
  addresses = [...addresses, { type: 'InternalIP', address: 'fd00::8' }];
  manager.templateChanged();
  await cluster.clock.advance(5000);
  await approve();
  await until(() => manager.current !== first);
  expect(manager.current?.leaf.subjectAltName).toBe(
    'DNS:n1, IP Address:10.0.0.8, IP Address:FD00:0:0:0:0:0:0:8',
  );
  const [{ spec } = { spec: undefined }] = await requests();
  expect(spec).toMatchObject({
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
    username: 'system:node:n1',
  });
});

test('the names of a serving certificate', () => {
  const namesOf = (
    ...addresses: readonly (readonly [string, string])[]
  ): Pick<RequestTemplate, 'dnsNames' | 'ipAddresses'> | undefined =>
    servingTemplate(
      'n1',
      addresses.map(([type, address]) => ({ type, address })),
    );
  expect(namesOf(['Hostname', 'n1'], ['InternalIP', 'none'])).toBeUndefined();
  expect(
    namesOf(
      ['Hostname', '10.0.0.9'],
      ['InternalDNS', 'b'],
      ['ExternalDNS', 'a'],
      ['ExternalIP', '192.0.2.1'],
      ['InternalIP', '192.0.2.1'],
      ['InternalIP', ''],
    ),
  ).toMatchObject({ dnsNames: ['a', 'b'], ipAddresses: ['10.0.0.9', '192.0.2.1'] });
});
