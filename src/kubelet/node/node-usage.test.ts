import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { complete, type ContainerStats } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { MachineUsage, SimulatedUsage } from './node-usage.ts';

let proc: string;
beforeEach(async () => {
  proc = await mkdtemp(join(tmpdir(), 'proc-'));
});
afterEach(() => rm(proc, { recursive: true }));

test('a machine’s CPU time excludes idle time, and its memory excludes the cache that can be dropped', async () => {
  await writeFile(
    join(proc, 'stat'),
    'cpu  100 10 50 9999 777 1 2 3 40 5\ncpu0 1 1 1 1 1 1 1 1 1 1\n',
  );
  const lines = [
    'MemTotal: 1000 kB',
    'MemFree: 300 kB',
    'Inactive(file): 200 kB',
    'AnonPages: 150 kB',
    'SwapTotal: 50 kB',
    'SwapFree: 20 kB',
  ];
  await writeFile(join(proc, 'meminfo'), `${lines.join('\n')}\n`);
  expect(await new MachineUsage(new VirtualClock(), proc).read()).toMatchObject({
    cpuNanoseconds: (100 + 10 + 50 + 1 + 2 + 3) * 10_000_000,
    usageBytes: 700 * 1024,
    workingSetBytes: 500 * 1024,
    availableBytes: 500 * 1024,
    rssBytes: 150 * 1024,
    swap: { usageBytes: 30 * 1024, availableBytes: 20 * 1024 },
  });
});

test('with cgroups v2 there is the pressure of the whole machine', async () => {
  await writeFile(join(proc, 'stat'), 'cpu  1 0 0 0 0 0 0 0 0 0\n');
  await writeFile(join(proc, 'meminfo'), 'MemTotal: 1000 kB\n');
  const read = async () =>
    (await new MachineUsage(new VirtualClock(), proc, proc).read())?.pressure;
  expect(await read()).toBeUndefined();
  for (const [i, resource] of ['cpu', 'memory', 'io'].entries()) {
    await writeFile(
      join(proc, `${resource}.pressure`),
      `some avg10=0.00 avg60=0.00 avg300=0.00 total=${i}\n`,
    );
  }
  expect(await read()).toMatchObject({
    cpu: { some: { total: 0 } },
    memory: { some: { total: 1000 } },
    io: { some: { total: 2000 } },
  });
});

test('a machine without procfs has no usage', async () => {
  expect(await new MachineUsage(new VirtualClock(), join(proc, 'nothing')).read()).toBeUndefined();
});

test('the CPU time of a simulated node never decreases when containers are removed', async () => {
  const clock = new VirtualClock();
  const usage = new SimulatedUsage(clock, 1e9);
  const stats = (id: string, nanoseconds: number): ContainerStats =>
    complete('ContainerStats', {
      attributes: { id },
      cpu: { usageCoreNanoSeconds: { value: nanoseconds } },
      memory: { workingSetBytes: { value: 1000 } },
    });
  const cpu = async (...all: readonly ContainerStats[]): Promise<number> =>
    (await usage.read(all)).cpuNanoseconds;
  const first = await cpu(stats('a', 5e9), stats('b', 1e9));
  expect(await cpu(stats('a', 6e9))).toBe(first + 1e9);
  expect(await cpu()).toBe(first + 1e9);
  expect(await cpu(stats('c', 2e9))).toBe(first + 3e9);
});
