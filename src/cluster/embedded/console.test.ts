// The console of a cluster with a virtual clock: sessions in real time, credentials in the cluster's.

import { afterEach, expect, test } from 'vitest';
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
  // A cluster with a port cannot be copied.
  await expect(transport.request({ method: 'POST', path: '/console/api/forks' })).rejects.toThrow();
});

test('a console needs a port', async () => {
  await expect(startCluster({ clock: 'virtual', console: true })).rejects.toThrow(TypeError);
});
