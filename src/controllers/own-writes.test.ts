import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { OwnWrites, staleSyncSkips } from './own-writes.ts';

const object = (uid: string, resourceVersion: number): KubeObject =>
  ({ metadata: { name: uid, uid, resourceVersion: String(resourceVersion) } }) as KubeObject;

test('a key waits until the cache has its writes, or has shown nothing for the timeout', async () => {
  const clock = new VirtualClock();
  const writes = new OwnWrites({ clock, timeoutMs: 1000 });
  expect(writes.remainingMs('k')).toBe(0);
  writes.wrote('k', object('a', 10), undefined);
  writes.wrote('k', object('b', 11), object('b', 3));
  writes.wrote('other', object('c', 12), undefined);
  expect(writes.remainingMs('k')).toBe(1000);
  writes.seen('k', object('a', 9));
  expect(writes.remainingMs('k')).toBe(1000);
  writes.seen('k', object('a', 10));
  writes.gone('k', object('b', 4));
  expect(writes.remainingMs('k')).toBe(0);
  await clock.advance('600ms');
  expect(writes.remainingMs('other')).toBe(400);
  await clock.advance('600ms');
  expect(writes.remainingMs('other')).toBe(0);
});

test('a write that the cache already shows is not waited for: the event may arrive before the response', () => {
  const writes = new OwnWrites({ clock: new VirtualClock() });
  writes.wrote('k', object('a', 10), object('a', 10));
  expect(writes.remainingMs('k')).toBe(0);
  // Another object has the name by now.
  writes.wrote('k', object('a', 10), object('z', 99));
  expect(writes.remainingMs('k')).toBe(30_000);
  writes.forget('k');
  expect(writes.remainingMs('k')).toBe(0);
});

test('delayed reconciles are counted by the type that the cache lacks', () => {
  const instruments = new Instruments();
  const skips = staleSyncSkips(instruments, 'x_controller');
  const writes = new OwnWrites({ clock: new VirtualClock(), skips });
  writes.remainingMs('k');
  writes.wrote(
    'k',
    { ...object('a', 10), apiVersion: 'apps/v1', kind: 'ControllerRevision' },
    undefined,
  );
  writes.remainingMs('k');
  writes.wrote('other', { ...object('b', 11), apiVersion: 'v1', kind: 'Pod' }, undefined);
  writes.remainingMs('other');
  writes.seen('other', object('b', 11));
  writes.remainingMs('other');
  expect(instruments.text().split('\n').slice(2)).toEqual([
    'x_controller_stale_sync_skips_total{group="apps",resource="controllerrevisions"} 1',
    'x_controller_stale_sync_skips_total{group="",resource="pods"} 1',
    '',
  ]);
});
