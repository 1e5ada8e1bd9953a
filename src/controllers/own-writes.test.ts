import { expect, test } from 'vitest';
import type { KubeObject } from '../client/client.ts';
import { VirtualClock } from '../machinery/clock.ts';
import { OwnWrites } from './own-writes.ts';

const object = (uid: string, resourceVersion: number): KubeObject =>
  ({ metadata: { name: uid, uid, resourceVersion: String(resourceVersion) } }) as KubeObject;

test('a key waits until the cache has what was written for it, or has shown nothing for long', async () => {
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

test('what the cache has already is not waited for: the event may come before the answer', () => {
  const writes = new OwnWrites({ clock: new VirtualClock() });
  writes.wrote('k', object('a', 10), object('a', 10));
  expect(writes.remainingMs('k')).toBe(0);
  // Another object has the name by now.
  writes.wrote('k', object('a', 10), object('z', 99));
  expect(writes.remainingMs('k')).toBe(30_000);
  writes.forget('k');
  expect(writes.remainingMs('k')).toBe(0);
});
