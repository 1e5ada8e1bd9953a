// Several API servers on one etcd serve one truth.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMaps, services } from '#api/groups/core/v1/index.ts';
import { ipAddresses } from '#api/groups/networking/v1/index.ts';
import { type TestServer, startTestServer } from '#apiserver/testing/server.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcd,
} from '#storage/etcd/testing/etcd-process.ts';
import { openStorage } from './open-storage.ts';

const mapsOf = ({ client }: TestServer) => client.resource(configMaps).namespace('default');

describe.skipIf(!hasEtcd())(`two API servers on one etcd (${ETCD_HINT})`, () => {
  let etcd: EtcdProcess;
  let servers: TestServer[];

  beforeAll(async () => {
    etcd = await startEtcd();
    servers = await Promise.all([1, 2].map(() => startServer()));
  });
  afterAll(async () => {
    await Promise.all(servers.map((each) => each.stop()));
    await etcd.stop();
  });

  async function startServer(): Promise<TestServer> {
    const storage = await openStorage({
      choice: 'etcd',
      etcd: { servers: [etcd.endpoint], prefix: 'shared/' },
      dir: '',
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    });
    return startTestServer({ storage, clock: systemClock, random: systemRandom });
  }

  test('shows on each what was written on the other, at once and in watches', async () => {
    const [one, other] = servers as [TestServer, TestServer];
    const list = await mapsOf(other).list();
    const watch = await mapsOf(other).watch({ resourceVersion: list.metadata.resourceVersion });
    const names = Array.from({ length: 20 }, (_, i) => `shared-${i}`);
    for (const name of names) {
      const made = await mapsOf(one).create({ metadata: { name }, data: { from: 'one' } });
      expect((await mapsOf(other).get(name)).metadata.uid).toBe(made.metadata.uid);
    }
    const seen: string[] = [];
    for await (const event of watch) {
      if (event.type === 'ADDED') seen.push(event.object.metadata.name);
      if (seen.length === names.length) break;
    }
    expect(seen).toEqual(names);
  });

  test('gives no address and no node port to two services, however many are made on both at once', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    const make = ({ client }: TestServer, name: string) =>
      client
        .resource(services)
        .namespace('default')
        .create({ metadata: { name }, spec: { type: 'NodePort', ports: [{ port: 80 }] } });
    const made = await Promise.all(
      names.flatMap((name) => servers.map((server, index) => make(server, `${name}-${index}`))),
    );
    expect(new Set(made.map(({ spec }) => spec.clusterIP)).size).toBe(200);
    expect(new Set(made.map(({ spec }) => spec.ports?.[0]?.nodePort)).size).toBe(200);
    const [one, other] = servers as [TestServer, TestServer];
    // The second manager takes the lease when the first one has released it, and not before.
    const { clusterIP } = (made[0] as (typeof made)[number]).spec;
    const again = () =>
      other.client
        .resource(services)
        .namespace('default')
        .create({ metadata: { name: 'again' }, spec: { clusterIP, ports: [{ port: 80 }] } });
    await expect(again()).rejects.toThrow(/provided IP is already allocated/);
    await one.client.resource(services).namespace('default').delete('s0-0');
    expect((await again()).spec.clusterIP).toBe(clusterIP);
    expect((await other.client.resource(ipAddresses).list()).items).toHaveLength(201);
  });

  test('loses no update that both make to the same object', async () => {
    await mapsOf(servers[0] as TestServer).create({
      metadata: { name: 'counter' },
      data: { n: '0' },
    });
    const count = async (server: TestServer): Promise<void> => {
      const maps = mapsOf(server);
      for (let done = 0; done < 15;) {
        const current = await maps.get('counter');
        const data = { n: String(Number(current.data?.['n']) + 1) };
        const updated = await maps.update({ ...current, data }).catch((error: unknown) => {
          if (!apierrors.isConflict(error)) throw error;
        });
        if (updated !== undefined) done++;
      }
    };
    await Promise.all(servers.map(count));
    for (const server of servers)
      expect((await mapsOf(server).get('counter')).data).toEqual({ n: '30' });
  });
});
