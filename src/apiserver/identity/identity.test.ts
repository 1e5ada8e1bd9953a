// The Leases of API servers, on a virtual clock.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { namespaces } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { formatMicroTime } from '#machinery/text/time.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { serverId } from './index.ts';

const HOST = 'machine-1';
const ID = 'apiserver-c5oenvr5pcxks7prlzwmvy3ypi';
const LABELS = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };

let clock: VirtualClock;
let t: TestServer;
beforeEach(async () => {
  clock = new VirtualClock();
  t = await startTestServer({ clock, hostname: HOST });
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const inSystem = () => t.client.resource(leases).namespace('kube-system');
const own = () => inSystem().get(ID);
const exists = async (name: string, namespace = 'kube-system'): Promise<boolean> =>
  (await apierrors.unlessMissing(t.client.resource(leases).namespace(namespace).get(name))) !==
  undefined;

interface OtherLease {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly spec: object;
}

async function createLease(name: string, { namespace, labels, spec }: OtherLease): Promise<void> {
  await t.client
    .resource(leases)
    .namespace(namespace ?? 'kube-system')
    .create({ metadata: { name, labels: labels ?? LABELS }, spec });
}

const renewedBefore = (ms: number): object => ({
  holderIdentity: 'x',
  leaseDurationSeconds: 3600,
  renewTime: formatMicroTime(clock.now() - ms),
});

test('the name of a server is a hash of the name of its machine', () => {
  expect(serverId(HOST)).toBe(ID);
  expect(serverId('machine-2')).not.toBe(ID);
});

test('a server has a Lease, and renews it', async () => {
  await clock.advance('1s');
  const lease = await own();
  expect(lease.metadata.labels).toEqual({ ...LABELS, 'kubernetes.io/hostname': HOST });
  expect(lease.spec).toEqual({
    holderIdentity: expect.stringMatching(new RegExp(`^${ID}_[0-9a-f-]{36}$`)) as string,
    leaseDurationSeconds: 3600,
    renewTime: expect.any(String) as string,
  });
  await clock.advance('11s');
  const renewed = await own();
  expect(renewed.metadata.uid).toBe(lease.metadata.uid);
  expect(Date.parse(renewed.spec.renewTime!)).toBeGreaterThan(Date.parse(lease.spec.renewTime!));
});

test('what others write stays, and a Lease that they delete comes again', async () => {
  await clock.advance('1s');
  const lease = await own();
  const annotations = { note: 'x' };
  await inSystem().update({ ...lease, metadata: { ...lease.metadata, annotations } });
  await clock.advance('11s');
  expect((await own()).metadata.annotations).toEqual(annotations);
  await inSystem().delete(ID);
  await clock.advance('11s');
  expect((await own()).metadata.creationTimestamp).not.toBe(lease.metadata.creationTimestamp);
});

test('the Lease ends with its server, and a new server has another', async () => {
  await clock.advance('1s');
  const { creationTimestamp } = (await own()).metadata;
  await t.server.stop();
  t = await startTestServer({ clock, storage: t.storage });
  expect(await exists(ID)).toBe(false);
  await t.server.stop();
  t = await startTestServer({ clock, storage: t.storage, hostname: HOST });
  await clock.advance('1m');
  expect((await own()).metadata.creationTimestamp).not.toBe(creationTimestamp);
});

test('an expired Lease of a server is deleted', async () => {
  await createLease('gone', { spec: renewedBefore(2 * 3_600_000) });
  await createLease('incomplete', { spec: { holderIdentity: 'x' } });
  await createLease('alive', { spec: renewedBefore(120_000) });
  await clock.advance('1s');
  expect(await exists('gone')).toBe(false);
  expect(await exists('incomplete')).toBe(false);
  expect(await exists('alive')).toBe(true);
  await clock.advance('59m');
  expect(await exists('alive')).toBe(false);
  expect(await exists(ID)).toBe(true);
});

test('other Leases stay', async () => {
  await t.client.resource(namespaces).create({ metadata: { name: 'other' } });
  await createLease('elected', { labels: {}, spec: renewedBefore(2 * 3_600_000) });
  await createLease('elsewhere', { namespace: 'other', spec: renewedBefore(2 * 3_600_000) });
  await clock.advance('2h');
  expect(await exists('elected')).toBe(true);
  expect(await exists('elsewhere', 'other')).toBe(true);
});

test('a server without the name of its machine has none', async () => {
  const other = await startTestServer();
  expect((await other.client.resource(leases).list()).items).toEqual([]);
  await other.stop();
});
