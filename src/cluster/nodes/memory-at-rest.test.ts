import { memoryUsage } from 'node:process';
import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { giveMemoryBack, type ProcessMemory, thisProcess } from './memory-at-rest.ts';

const MB = 2 ** 20;

/** A process with a heap of `live` and garbage. */
class FakeMemory implements ProcessMemory {
  cpu = 0;
  live = 40 * MB;
  garbage = 0;
  collections = 0;

  cpuMs(): number {
    return this.cpu;
  }

  heapBytes(): number {
    return this.live + this.garbage;
  }

  async collect(): Promise<void> {
    this.cpu += 100;
    this.garbage = 0;
    this.collections++;
  }
}

test('garbage is collected at rest, once it is worth it, and not of a large heap', async () => {
  const clock = new VirtualClock();
  const memory = new FakeMemory();
  const stop = giveMemoryBack(clock, silentLogger, memory);
  memory.garbage = 100 * MB;
  memory.cpu += 5000;
  await clock.advance(30_000);
  expect(memory.collections).toBe(0);
  await clock.advance(30_000);
  expect(memory.collections).toBe(1);
  memory.garbage = 20 * MB;
  await clock.advance(120_000);
  expect(memory.collections).toBe(1);
  memory.garbage = 49 * MB;
  await clock.advance(30_000);
  expect(memory.collections).toBe(2);
  memory.live = 600 * MB;
  await clock.advance(120_000);
  expect(memory.collections).toBe(2);
  memory.live = 200 * MB;
  stop();
  await clock.advance(120_000);
  expect(memory.collections).toBe(2);
});

/** Returns the bytes of the heap while this function has an array of many objects. */
function withGarbage(): number {
  const objects = Array.from({ length: 400_000 }, (_, n) => ({ n, text: `text ${n}` }));
  return memoryUsage().heapUsed - objects.length;
}

test('a process that cannot collect is left alone', async () => {
  const clock = new VirtualClock();
  const memory = new FakeMemory();
  memory.collect = () => {
    memory.collections++;
    return Promise.reject(new Error('no inspector'));
  };
  memory.garbage = 100 * MB;
  giveMemoryBack(clock, silentLogger, memory);
  await clock.advance(120_000);
  expect(memory.collections).toBe(1);
});

test('this process has less memory after a collection', async () => {
  const before = withGarbage();
  expect(thisProcess.cpuMs()).toBeGreaterThan(0);
  await thisProcess.collect();
  expect(memoryUsage().heapUsed).toBeLessThan(before - 10 * MB);
  expect(thisProcess.heapBytes()).toBeGreaterThan(memoryUsage().heapUsed);
});
