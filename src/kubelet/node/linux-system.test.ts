import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LinuxSystem } from './linux-system.ts';

let proc: string;
beforeAll(() => {
  proc = mkdtempSync(join(tmpdir(), 'coxswain-proc-'));
  mkdirSync(join(proc, 'sys', 'kernel'), { recursive: true });
  writeFileSync(
    join(proc, 'meminfo'),
    'MemTotal:  1000 kB\nMemFree:  300 kB\nInactive(anon):  50 kB\nInactive(file):  200 kB\n',
  );
  writeFileSync(join(proc, 'loadavg'), '0.10 0.20 0.30 2/345 6789\n');
  writeFileSync(join(proc, 'sys', 'kernel', 'pid_max'), '32768\n');
  writeFileSync(join(proc, 'sys', 'kernel', 'threads-max'), '1000\n');
});
afterAll(() => rmSync(proc, { recursive: true, force: true }));

test('memory is available unless it is in the working set', async () => {
  expect(await new LinuxSystem(proc).memory()).toEqual({
    capacity: 1000 * 1024,
    available: 500 * 1024,
  });
});

test('the number of processes is limited by the lower of two limits', async () => {
  expect(await new LinuxSystem(proc).processes()).toEqual({ capacity: 1000, available: 655 });
});

test('a file system has blocks and inodes; a path that is missing has none', async () => {
  const system = new LinuxSystem();
  const state = await system.fileSystem(proc);
  expect(state?.capacityBytes).toBeGreaterThan(state?.availableBytes ?? 0);
  expect(state?.availableBytes).toBeGreaterThan(0);
  expect(await system.fileSystem(join(proc, 'missing'))).toBeUndefined();
});

test('a system without procfs has neither', async () => {
  const system = new LinuxSystem(join(proc, 'missing'));
  expect(await system.memory()).toBeUndefined();
  expect(await system.processes()).toBeUndefined();
});
