// Cluster IPs as IPAddress objects, through the server.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { services } from '#api/groups/core/v1/index.ts';
import { ipAddresses, serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type Storage, StorageError } from '#storage/interface.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';

let t: TestServer;
beforeEach(async () => {
  t = await startTestServer({ serviceCidr: '10.0.0.0/24' });
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const inDefault = (server = t) => server.client.resource(services).namespace('default');
const create = (name: string, spec: object = {}, server = t) =>
  inDefault(server).create({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
const addressNames = async (): Promise<string[]> =>
  (await t.client.resource(ipAddresses).list()).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== '10.0.0.1');
const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  );

/** Creates a ServiceCIDR with the condition that the controller manager would set. */
async function addRange(
  name: string,
  cidrs: string[],
  status: 'True' | 'False' = 'True',
): Promise<void> {
  const created = await t.client
    .resource(serviceCIDRs)
    .create({ metadata: { name, finalizers: ['test/held'] }, spec: { cidrs } });
  const condition = {
    type: 'Ready',
    status,
    reason: '',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await t.client
    .resource(serviceCIDRs)
    .updateStatus({ ...created, status: { conditions: [condition] } });
}

describe('a cluster IP', () => {
  test('is an object that refers to its service, as long as the service exists', async () => {
    const { spec } = await create('a');
    const object = await t.client.resource(ipAddresses).get(spec.clusterIP ?? '');
    expect(object.metadata.labels).toEqual({
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    });
    expect(object.spec.parentRef).toEqual({
      resource: 'services',
      namespace: 'default',
      name: 'a',
    });
    await inDefault().delete('a');
    expect(await addressNames()).toEqual([]);
    await create('b', { clusterIP: spec.clusterIP });
  });

  test('of the Service kubernetes is the first one', async () => {
    const { spec } = await t.client.resource(ipAddresses).get('10.0.0.1');
    expect(spec.parentRef).toMatchObject({ namespace: 'default', name: 'kubernetes' });
  });

  test('is released when the service is rejected, exists already, or no longer needs it', async () => {
    await create('a', { clusterIP: '10.0.0.9' });
    expect(await messageOf(create('a'))).toBe('services "a" already exists');
    expect(await messageOf(create('b', { ports: [{ port: 0 }] }))).toMatch(
      /spec.ports\[0\].port: Invalid value: 0/,
    );
    expect(
      await messageOf(create('b', { ports: [{ port: 80, nodePort: 80 }], type: 'NodePort' })),
    ).toMatch(/not in the valid range/);
    expect(await addressNames()).toEqual(['10.0.0.9']);
    await inDefault().patch('a', 'application/merge-patch+json', {
      spec: { type: 'ExternalName', externalName: 'a.b' },
    });
    expect(await addressNames()).toEqual([]);
  });

  test('is not allocated in a dry run, which shows a free one', async () => {
    const tried = await inDefault().create(
      { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } },
      { dryRun: 'All' },
    );
    expect(tried.spec.clusterIP).toMatch(/^10\.0\.0\.\d+$/);
    expect(await addressNames()).toEqual([]);
    await create('a', { clusterIP: tried.spec.clusterIP });
    await inDefault().delete('a', { dryRun: 'All' });
    expect(await addressNames()).toEqual([tried.spec.clusterIP]);
  });

  test('cannot be allocated while another object has its name', async () => {
    const other = {
      metadata: { name: '10.0.0.40' },
      spec: { parentRef: { resource: 'gateways', name: 'mine', group: 'example.org' } },
    };
    await t.client.resource(ipAddresses).create(other);
    expect(await messageOf(create('a', { clusterIP: '10.0.0.40' }))).toContain(
      'spec.clusterIPs: Invalid value: ["10.0.0.40"]: failed to allocate IP 10.0.0.40: ' +
        'provided IP is already allocated',
    );
  });

  test('stays allocated when the outcome of the service’s write is unknown', async () => {
    let lost = false;
    const storage: Storage = new Proxy(t.storage, {
      get(target, name: keyof Storage) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'create') return value.bind(target) as unknown;
        return async (...args: Parameters<Storage['create']>) => {
          const kv = await target.create(...args);
          if (lost && args[0].startsWith('/registry/services/specs/'))
            throw new StorageError('Unavailable', 'no answer');
          return kv;
        };
      },
    });
    const server = await startTestServer({ serviceCidr: '10.0.0.0/24', storage });
    lost = true;
    const failure = await create('a', { clusterIP: '10.0.0.9' }, server).catch(
      (error: unknown) => error,
    );
    expect(apierrors.isServerTimeout(failure)).toBe(true);
    expect(await addressNames()).toEqual(['10.0.0.9']);
    expect((await inDefault().get('a')).spec.clusterIP).toBe('10.0.0.9');
    await server.server.stop();
  });
});

describe('ranges', () => {
  test('are allocated completely, the upper part first', async () => {
    await t.stop();
    t = await startTestServer({ serviceCidr: '10.0.0.0/26' });
    const names = Array.from({ length: 61 }, (_, index) => `s${index}`);
    const allocated: string[] = [];
    for (const name of names) allocated.push((await create(name)).spec.clusterIP ?? '');
    expect(new Set(allocated).size).toBe(61);
    const numbers = allocated.map((address) => Number(address.split('.')[3]));
    expect(Math.min(...numbers.slice(0, 46))).toBe(17);
    expect(Math.max(...numbers.slice(46))).toBe(16);
    expect(await messageOf(create('one-more'))).toBe(
      'Internal error occurred: failed to allocate a serviceIP: range is full',
    );
    await inDefault().delete('s7');
    expect((await create('one-more')).spec.clusterIP).toBe(allocated[7]);
  });

  test('may be added while the server runs, and are used when the older ones are full', async () => {
    await t.stop();
    t = await startTestServer({ serviceCidr: '10.0.0.0/29' });
    for (let index = 0; index < 5; index++)
      expect((await create(`s${index}`)).spec.clusterIP).toMatch(/^10\.0\.0\.[2-6]$/);
    expect(await messageOf(create('late'))).toMatch(/range is full/);
    expect(await messageOf(create('late', { clusterIP: '10.9.0.7' }))).toMatch(
      /the provided network does not match the current range/,
    );
    await addRange('more', ['10.9.0.0/24']);
    expect((await create('late')).spec.clusterIP).toMatch(/^10\.9\.0\.\d+$/);
    expect((await create('named', { clusterIP: '10.9.0.7' })).spec.clusterIP).toBe('10.9.0.7');
    for (const border of ['10.9.0.0', '10.9.0.255']) {
      expect(await messageOf(create('border', { clusterIP: border }))).toMatch(
        /does not match the current range/,
      );
    }
  });

  test('are not used when they are not ready, or being deleted', async () => {
    await addRange('not-yet', ['10.9.0.0/24'], 'False');
    await addRange('no-more', ['10.8.0.0/24']);
    await t.client.resource(serviceCIDRs).delete('no-more');
    for (const clusterIP of ['10.9.0.7', '10.8.0.7']) {
      expect(await messageOf(create('a', { clusterIP }))).toMatch(
        /the provided network does not match the current range/,
      );
    }
    await addRange('again', ['10.8.0.0/16']);
    expect((await create('a', { clusterIP: '10.8.0.7' })).spec.clusterIP).toBe('10.8.0.7');
  });

  test('may have 2^64 addresses', async () => {
    await t.stop();
    t = await startTestServer({ serviceCidr: 'fd00::/64' });
    expect((await create('a')).spec.clusterIP).toMatch(/^fd00::[0-9a-f:]+$/);
    const far = { clusterIP: 'fd00::ffff:ffff:ffff:ffff' };
    expect((await create('b', far)).spec).toMatchObject({ ...far, ipFamilies: ['IPv6'] });
  });
});

describe('servers on one store', () => {
  test('never allocate an address or a node port twice', async () => {
    const server = () =>
      startTestServer({
        serviceCidr: '10.0.0.0/25',
        storage: t.storage,
        random: new SeededRandom('same'),
      });
    await t.server.stop();
    const both = [await server(), await server()] as const;
    t = { ...both[0], storage: t.storage };
    const names = Array.from({ length: 60 }, (_, index) => `s${index}`);
    const created = await Promise.all(
      names.flatMap((name) =>
        both.map((each, index) => create(`${name}-${index}`, { type: 'NodePort' }, each)),
      ),
    );
    expect(new Set(created.map(({ spec }) => spec.clusterIP)).size).toBe(120);
    expect(new Set(created.map(({ spec }) => spec.ports?.[0]?.nodePort)).size).toBe(120);
    // One server allocates a port that the other has released.
    for (const name of names) await inDefault(both[0]).delete(`${name}-1`);
    const again = await Promise.all(
      names.map((name) => create(`${name}-2`, { type: 'NodePort' }, both[1])),
    );
    expect(new Set(again.map(({ spec }) => spec.clusterIP)).size).toBe(60);
    await both[1].server.stop();
  });
});

test('a thousand services need about two objects of the store each', async () => {
  await t.stop();
  t = await startTestServer({ serviceCidr: '10.0.0.0/16' });
  const before = await t.storage.currentRevision();
  await Promise.all(Array.from({ length: 1000 }, (_, index) => create(`s${index}`)));
  expect((await t.storage.currentRevision()) - before).toBe(2000);
});
