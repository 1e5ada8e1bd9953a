import { VirtualClock } from '#machinery/clock.ts';
import { expect, test } from 'vitest';
import { IdleNodes } from './idle-nodes.ts';

function setUp() {
  const clock = new VirtualClock();
  const start = clock.monotonic();
  const found: string[] = [];
  const idle = new IdleNodes({
    clock,
    idleMs: 60_000,
    onIdle: (node) => void found.push(`${node} ${(clock.monotonic() - start) / 1000}`),
  });
  return { clock, found, idle };
}

test('a node is found once, when nothing has happened for the whole time', async () => {
  const { clock, found, idle } = setUp();
  idle.touch('a');
  await clock.advance('20s');
  idle.touch('b');
  await clock.advance('20s');
  idle.touch('a');
  await clock.advance('10m');
  expect(found).toEqual(['b 80', 'a 100']);
  expect(clock.pendingTimers).toBe(0);
});

test('a node may be touched again when it is found', async () => {
  const clock = new VirtualClock();
  let found = 0;
  const idle = new IdleNodes({
    clock,
    idleMs: 1000,
    onIdle: (node) => {
      if (++found < 3) idle.touch(node);
    },
  });
  idle.touch('a');
  await clock.advance('1m');
  expect(found).toBe(3);
});

test('nothing is found, and no timer is left, after clear', async () => {
  const { clock, found, idle } = setUp();
  idle.touch('a');
  idle.clear();
  expect(clock.pendingTimers).toBe(0);
  await clock.advance('10m');
  expect(found).toEqual([]);
  idle.touch('a');
  await clock.advance('1m');
  expect(found).toEqual(['a 660']);
});
