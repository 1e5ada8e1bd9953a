import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { CriError, type ImageService } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { MachineDetails, SimulatedDetails } from './node-details.ts';

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'proc-'));
});
afterEach(() => rmSync(proc, { recursive: true }));

function images(imageFsInfo: () => Promise<unknown>): ImageService {
  return { imageFsInfo } as unknown as ImageService;
}

const clock = new VirtualClock();

test('the details of a machine come from procfs, statfs and the runtime', async () => {
  mkdirSync(join(proc, 'sys/kernel'), { recursive: true });
  mkdirSync(join(proc, 'net'));
  writeFileSync(join(proc, 'stat'), 'cpu  1 2\nbtime 1700000000\n');
  writeFileSync(join(proc, 'sys/kernel/pid_max'), '32768\n');
  writeFileSync(join(proc, 'loadavg'), '0 0 0 1/77 5\n');
  writeFileSync(join(proc, 'net/dev'), 'eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n');
  const info = {
    imageFilesystems: [
      { timestamp: 5e6, fsId: { mountpoint: proc }, usedBytes: { value: 42 }, inodesUsed: null },
    ],
  };
  const source = new MachineDetails({
    clock,
    rootDir: proc,
    images: images(() => Promise.resolve(info)),
    proc,
  });
  const details = await source.read();
  expect(details).toMatchObject({
    bootTime: 1_700_000_000_000,
    tasks: { max: 32_768, running: 77 },
    interfaces: [{ name: 'eth0', rxBytes: 1, txErrors: 7 }],
    imageFs: { time: 5, usedBytes: 42 },
  });
  const { capacityBytes = 0, availableBytes = 0, usedBytes = 0 } = details.fs ?? {};
  expect(capacityBytes).toBeGreaterThan(0);
  expect(availableBytes + usedBytes).toBeLessThanOrEqual(capacityBytes);
  expect(details.imageFs?.capacityBytes).toBe(capacityBytes);
});

test('what cannot be read is left out', async () => {
  const source = new MachineDetails({
    clock,
    rootDir: join(proc, 'missing'),
    images: images(() => Promise.reject(new CriError('Unavailable', 'no runtime'))),
    proc: join(proc, 'missing'),
  });
  expect(await source.read()).toEqual({ time: clock.now() });
});

test('a simulated node has an empty disk', async () => {
  const time = clock.now();
  const fs = { time, capacityBytes: 100, availableBytes: 100, usedBytes: 0 };
  expect(await new SimulatedDetails(clock, 100).read()).toEqual({ time, fs, imageFs: fs });
  expect(await new SimulatedDetails(clock, 0).read()).toEqual({ time });
});
