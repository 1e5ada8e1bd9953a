// The console of a cluster with a virtual clock: sessions in real time, credentials in the cluster's.

import { request } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { type EmbeddedCluster, startCluster } from '../index.ts';

let cluster: EmbeddedCluster<VirtualClock> | undefined;
afterEach(async () => cluster?.stop());

interface Time {
  readonly time: string;
}

test('the clock is moved through the console, by those who may', async () => {
  const startMs = Date.UTC(2030, 0, 1);
  cluster = await startCluster({ clock: 'virtual', startMs, port: 0, console: true });
  const { transport } = cluster.client;
  const path = '/console/api/clock';
  const before = Date.parse((await transport.request<Time>({ method: 'GET', path })).time);
  expect(before).toBe(cluster.clock.now());
  const answer = await transport.request<Time>({
    method: 'POST',
    path,
    body: { advanceMs: 86_400_000 },
  });
  expect(Date.parse(answer.time)).toBe(before + 86_400_000);
  await transport.request({ method: 'POST', path, body: { settle: true } });
  const decisions = { method: 'GET', path: '/console/api/scheduler' } as const;
  expect(await transport.request(decisions)).toEqual({ decisions: [] });
});

test('the console forks the cluster, and signs its user in there', async () => {
  cluster = await startCluster({ clock: 'virtual', port: 0, console: true });
  const maps = cluster.client.resource(configMaps).namespace('default');
  await maps.create({ metadata: { name: 'shared' } });
  const fork = (): Promise<{ readonly url: string }> =>
    cluster!.client.transport.request({ method: 'POST', path: '/console/api/forks' });
  const { url } = await fork();
  const address = new URL(url);
  expect(address.origin).not.toBe(cluster.url);
  expect(address).toMatchObject({ pathname: '/console/', protocol: 'https:' });
  // The authority is that of the first cluster.
  const { ca } = clusterAuthority(cluster.kubeconfig as string);
  const session = await post(`${address.origin}/console/session`, ca, {
    code: address.hash.replace('#login=', ''),
  });
  expect(session).toMatchObject({ user: 'kubernetes-admin' });

  // A future of its own: neither sees what the other writes.
  const copy = await cluster.fork();
  try {
    const own = copy.client.resource(configMaps).namespace('default');
    await own.delete('shared');
    await copy.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'later' },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    });
    await copy.waitFor(pods, 'later', 'Ready');
    expect((await maps.get('shared')).metadata.name).toBe('shared');
    const before = cluster.clock.now();
    await copy.clock.advance('24h');
    expect(cluster.clock.now()).toBe(before);
    expect(copy.url).not.toBe(cluster.url);
  } finally {
    await copy.stop();
  }
  await expect(cluster.checkpoint()).rejects.toThrow('cannot go back in time');
});

function clusterAuthority(kubeconfig: string): { readonly ca: string } {
  const [, data = ''] = /certificate-authority-data: "?([\w+/=]+)/.exec(kubeconfig) ?? [];
  return { ca: Buffer.from(data, 'base64').toString('utf8') };
}

/** Sends a request as a page of the console does. Returns the response's JSON. */
function post(url: string, ca: string, body: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        ca,
        agent: false,
        headers: { 'content-type': 'application/json', 'x-coxswain-console': '1' },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

test('a console needs a port', async () => {
  await expect(startCluster({ clock: 'virtual', console: true })).rejects.toThrow(TypeError);
});
