// The example of docs/high-availability.md: each of its processes is stopped and killed while clients
// write and read through the load balancer.

import { Agent, request } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { ETCD_HINT, hasEtcd } from '#storage/etcd/testing/etcd-process.ts';
import { eventually, named } from './harness.ts';
import {
  controllersWork,
  HighlyAvailableCluster,
  holder,
  NAMESPACE,
  type Role,
  Traffic,
  type Write,
  writers,
} from './highly-available-cluster.ts';

const missing = hasEtcd() ? undefined : ETCD_HINT;

describe.skipIf(missing !== undefined)(named('a cluster of several of each', missing), () => {
  const cluster = new HighlyAvailableCluster();
  beforeAll(() => cluster.start());
  afterAll(() => cluster.stop());

  /** Returns a writer over HTTP/1.1 that keeps its connection, as clients of many languages do. */
  async function keepAliveWriter(): Promise<Write> {
    const {
      ca,
      clientCertificate: cert,
      clientKey: key,
    } = await loadKubeconfig(cluster.conf('admin'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, cert, key });
    cluster.onStop(() => agent.destroy());
    const send = (method: string, path: string, body: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        const sent = request(
          `${cluster.balancer.url}${path}`,
          { method, agent, headers },
          (response) => {
            response.resume();
            response.once('error', reject).once('end', () => resolve(response.statusCode));
          },
        );
        sent.once('error', reject);
        sent.end(body);
      });
    return async (name) => {
      const collection = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
      expect(await send('POST', collection, JSON.stringify(body))).toBe(201);
      return async () => expect(await send('GET', `${collection}/${name}`, '')).toBe(200);
    };
  }

  test('no request fails while each API server is restarted in turn', async () => {
    const client = await cluster.connect();
    const keepAlive = await Promise.all([keepAliveWriter(), keepAliveWriter()]);
    const traffic = new Traffic(client, 'rolling', [...writers(client, 4), ...keepAlive]);
    await traffic.progress(20);
    for (const server of cluster.named('apiserver')) {
      expect(await server.end('SIGTERM')).toBe(0);
      await traffic.progress(20);
      await server.start();
      await eventually('it is balanced to', () =>
        Promise.resolve(cluster.balancer.isReady(server.port)),
      );
      await traffic.progress(20);
    }
    await traffic.finish();
    expect(traffic.failures).toEqual([]);
  });

  test('a killed API server loses nothing that was acknowledged', async () => {
    const client = await cluster.connect();
    const traffic = new Traffic(client, 'killed', writers(client, 4));
    await traffic.progress(20);
    const [server] = cluster.named('apiserver');
    await server?.end('SIGKILL');
    await traffic.progress(50);
    await controllersWork(client, 'after-server');
    await server?.start();
    await traffic.finish();
  });

  test('a killed member of etcd loses nothing that was acknowledged', async () => {
    const client = await cluster.connect();
    const traffic = new Traffic(client, 'member', writers(client, 4));
    await traffic.progress(20);
    // One of the three is the leader, and one is that of each server.
    for (const member of cluster.members) {
      member.signal('SIGKILL');
      await traffic.progress(50);
      await member.restart();
      await cluster.allServersReady();
    }
    await controllersWork(client, 'after-member');
    await traffic.finish();
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'another controller manager works after %s',
    async (signal) => {
      const client = await cluster.connect();
      const [leading, waiting] = cluster.named('controller-manager') as [Role, Role];
      await Promise.all([leading.end('SIGTERM'), waiting.end('SIGTERM')]);
      await leading.start();
      const before = await eventually('a leader', () => holder(client, 'kube-controller-manager'));
      await waiting.start();
      await leading.end(signal);
      await controllersWork(client, `after-${signal.toLowerCase()}`);
      expect(await holder(client, 'kube-controller-manager')).not.toBe(before);
    },
    120_000,
  );
});
