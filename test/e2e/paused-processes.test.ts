// Processes of a highly available cluster that hang and go on later, which is harder than their end:
// their connections stay open, and they have to find out what they have missed.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pods as podsResource, configMaps } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { ETCD_HINT, hasEtcd } from '#storage/etcd/testing/etcd-process.ts';
import { eventually, named } from './harness.ts';
import {
  controllersWork,
  HighlyAvailableCluster,
  holder,
  NAMESPACE,
  type Role,
  Traffic,
  writers,
} from './highly-available-cluster.ts';

const missing =
  process.platform === 'linux' ? (hasEtcd() ? undefined : ETCD_HINT) : 'it needs Linux';

/** The names of ConfigMaps that a watch has seen. */
class Seen {
  readonly names = new Set<string>();
  readonly #stop = new AbortController();

  constructor(client: Client) {
    void this.#follow(client);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #follow(client: Client): Promise<void> {
    const resource = client.resource(configMaps).namespace(NAMESPACE);
    const { signal } = this.#stop;
    let { resourceVersion } = (await resource.list()).metadata;
    while (!signal.aborted) {
      const events = await resource.watch({ resourceVersion, signal });
      for await (const event of events) {
        resourceVersion = event.object.metadata.resourceVersion;
        if (event.type === 'ADDED') this.names.add(event.object.metadata.name);
      }
    }
  }
}

describe.skipIf(missing !== undefined)(named('paused processes', missing), () => {
  const cluster = new HighlyAvailableCluster();
  beforeAll(() => cluster.start());
  afterAll(() => cluster.stop());

  test('an API server that was paused serves nothing that is older than other servers', async () => {
    const [paused, other] = cluster.named('apiserver') as [Role, Role];
    const direct = (await cluster.connect(paused)).resource(configMaps).namespace(NAMESPACE);
    const elsewhere = (await cluster.connect(other)).resource(configMaps).namespace(NAMESPACE);
    const created = await elsewhere.create({ metadata: { name: 'read' }, data: { state: 'old' } });
    expect((await direct.get('read')).data).toEqual({ state: 'old' });
    paused.signal('SIGSTOP');
    await eventually('it is not balanced to', () =>
      Promise.resolve(!cluster.balancer.isReady(paused.port)),
    );
    await elsewhere.update({ ...created, data: { state: 'new' } });
    const reads = Promise.all([direct.get('read'), direct.list()]);
    paused.signal('SIGCONT');
    const [read, { items }] = await reads;
    expect(read.data).toEqual({ state: 'new' });
    expect(items.find(({ metadata }) => metadata.name === 'read')?.data).toEqual({ state: 'new' });
    await cluster.allServersReady();
  });

  test('a paused member of etcd delays writes and events, and loses none', async () => {
    const servers = await Promise.all(
      cluster.named('apiserver').map((server) => cluster.connect(server)),
    );
    const seen = servers.map((client) => new Seen(client));
    const [client] = servers as [Client];
    const traffic = new Traffic(client, 'paused', writers(client, 4));
    await traffic.progress(20);
    // One of the three is the leader, and one is that of each server.
    for (const member of cluster.members) {
      await member.pause();
      await traffic.progress(50);
      const last = traffic.acknowledged.at(-1)!;
      await eventually('events at all servers', () =>
        Promise.resolve(seen.every(({ names }) => names.has(last))),
      );
      member.signal('SIGCONT');
    }
    await traffic.finish();
    await eventually('all events', () =>
      Promise.resolve(
        seen.every(({ names }) => traffic.acknowledged.slice(20).every((name) => names.has(name))),
      ),
    );
    for (const each of seen) each.stop();
  });

  test('a controller manager that was paused while another one leads gives way', async () => {
    const client = await cluster.connect();
    const [leading, waiting] = cluster.named('controller-manager') as [Role, Role];
    await Promise.all([leading.end('SIGTERM'), waiting.end('SIGTERM')]);
    await leading.start();
    const before = await eventually('a leader', () => holder(client, 'kube-controller-manager'));
    await waiting.start();
    leading.signal('SIGSTOP');
    await controllersWork(client, 'while-paused');
    const after = await holder(client, 'kube-controller-manager');
    expect(after).not.toBe(before);
    leading.signal('SIGCONT');
    await eventually('it gives way', () =>
      Promise.resolve(leading.logs.includes('leadership was lost')),
    );
    await controllersWork(client, 'after-pause');
    expect(await holder(client, 'kube-controller-manager')).toBe(after);
    const pods = client.resource(podsResource).namespace(NAMESPACE);
    for (const app of ['while-paused', 'after-pause']) {
      await eventually('the pod', async () => {
        const { items } = await pods.list({ labelSelector: `app=${app}` });
        return items.length === 1;
      });
    }
  }, 120_000);
});
