// The tree of cgroups, against directories in the form of v1 and of v2.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#machinery/log.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { Pod } from '../types.ts';
import { LinuxCgroups } from '../node/writable-cgroups.ts';
import { PodCgroups } from './pod-cgroups.ts';
import type { CgroupSystem } from './system.ts';

let mount: string;
beforeEach(() => (mount = mkdtempSync(join(tmpdir(), 'coxswain-cgroups-'))));
afterEach(() => rmSync(mount, { recursive: true, force: true }));

const burstable = (uid: string, cpu: string): Pod =>
  makePod({
    metadata: { uid },
    spec: { containers: [makeContainer('main', { resources: { requests: { cpu } } })] },
    status: {},
  });
const read = (...path: readonly string[]): string => readFileSync(join(mount, ...path), 'utf8');

const limited = (cpu: string, memory: string): Pod =>
  makePod({
    metadata: { uid: 'a' },
    spec: {
      containers: [
        makeContainer('main', { resources: { requests: { cpu: '1m' }, limits: { cpu, memory } } }),
      ],
    },
    status: {},
  });

async function start(
  version: 1 | 2,
  active: readonly Pod[] = [],
  wrap = (system: CgroupSystem): CgroupSystem => system,
): Promise<PodCgroups> {
  if (version === 2) writeFileSync(join(mount, 'cgroup.controllers'), 'cpu memory pids');
  else for (const name of ['cpu', 'memory', 'pids']) mkdirSync(join(mount, name));
  const cgroups = new PodCgroups({
    system: wrap(await LinuxCgroups.open(mount)),
    logger: silentLogger,
    root: '/own',
    node: { cpuShares: 2048, memoryBytes: 1000 },
    maxProcessesPerPod: 10,
    activePods: () => active,
  });
  await cgroups.start();
  return cgroups;
}

test('v1: one tree per controller', async () => {
  const pod = burstable('a', '250m');
  const cgroups = await start(1, [pod]);
  expect(read('memory', 'own', 'kubepods', 'memory.limit_in_bytes')).toBe('1000');
  expect(read('cpu', 'own', 'kubepods', 'besteffort', 'cpu.shares')).toBe('2');
  expect(read('cpu', 'own', 'kubepods', 'burstable', 'cpu.shares')).toBe('256');
  await cgroups.ensure(pod);
  expect(cgroups.pathOf(pod)).toBe('/own/kubepods/burstable/poda');
  expect(read('cpu', 'own', 'kubepods', 'burstable', 'poda', 'cpu.shares')).toBe('256');
  expect(read('pids', 'own', 'kubepods', 'burstable', 'poda', 'pids.max')).toBe('10');
});

test('limits are raised before the containers change, and lowered after them', async () => {
  const cgroups = await start(1);
  const limits = (): readonly string[] => [
    read('cpu', 'own', 'kubepods', 'burstable', 'poda', 'cpu.cfs_quota_us'),
    read('memory', 'own', 'kubepods', 'burstable', 'poda', 'memory.limit_in_bytes'),
  ];
  await cgroups.ensure(limited('100m', '20Mi'));
  await cgroups.settle(limited('100m', '20Mi'));
  expect(limits()).toEqual(['10000', String(20 << 20)]);
  const resized = limited('200m', '10Mi');
  await cgroups.ensure(resized);
  expect(limits()).toEqual(['20000', String(20 << 20)]);
  await cgroups.settle(resized);
  expect(limits()).toEqual(['20000', String(10 << 20)]);
});

test('a limit that the kernel does not lower yet is lowered by a later call', async () => {
  let refusals = 0;
  const cgroups = await start(1, [], (system) => ({
    version: system.version,
    create: (path) => system.create(path),
    read: (path, controller, name) => system.read(path, controller, name),
    children: (path) => system.children(path),
    remove: (path) => system.remove(path),
    write: (path, file) => {
      if (file.value === '10000' && refusals++ === 0)
        throw Object.assign(new Error('invalid'), { code: 'EINVAL' });
      return system.write(path, file);
    },
  }));
  const quota = (): string =>
    read('cpu', 'own', 'kubepods', 'burstable', 'poda', 'cpu.cfs_quota_us');
  await cgroups.ensure(limited('200m', '20Mi'));
  const resized = limited('100m', '20Mi');
  await cgroups.settle(resized);
  expect(quota()).toBe('20000');
  await cgroups.settle(resized);
  expect([quota(), refusals]).toEqual(['10000', 2]);
});

test('v2: one tree, whose controllers are enabled on the way', async () => {
  const pod = burstable('a', '1');
  const cgroups = await start(2, [pod]);
  await cgroups.ensure(pod);
  for (const path of [[], ['own'], ['own', 'kubepods'], ['own', 'kubepods', 'burstable']])
    expect(read(...path, 'cgroup.subtree_control'), path.join('/')).toBe('+cpu +memory +pids');
  expect(read('own', 'kubepods', 'memory.max')).toBe('1000');
  expect(read('own', 'kubepods', 'burstable', 'poda', 'cpu.weight')).toBe('39');
});

test.each([
  [1, 'usage_in_bytes', 'total_inactive_file'],
  [2, 'current', 'inactive_file'],
] as const)('v%d: the working set leaves idle file cache out', async (version, usage, inactive) => {
  const pod = burstable('a', '1');
  const cgroups = await start(version);
  await cgroups.ensure(pod);
  const directory = (controller: string, ...path: readonly string[]): string =>
    join(mount, ...(version === 1 ? [controller] : []), 'own', 'kubepods', ...path);
  for (const [path, bytes] of [
    [[], 700],
    [['burstable', 'poda'], 300],
  ] as const) {
    writeFileSync(join(directory('memory', ...path), `memory.${usage}`), `${bytes}\n`);
    writeFileSync(join(directory('memory', ...path), 'memory.stat'), `cache 5\n${inactive} 100\n`);
  }
  writeFileSync(join(directory('pids', 'burstable', 'poda'), 'pids.current'), '7\n');
  expect(await cgroups.podsMemory()).toEqual({ capacity: 1000, available: 400 });
  expect(await cgroups.usageOf('a')).toEqual({ memoryBytes: 200, processes: 7 });
  expect(await cgroups.usageOf('unknown')).toBeUndefined();
});

test('pods that are gone lose their cgroups', async () => {
  const cgroups = await start(1);
  await cgroups.ensure(burstable('kept', '1'));
  // As the kernel has it: a directory without files of its own.
  for (const controller of ['cpu', 'memory', 'pids', 'freezer'])
    mkdirSync(join(mount, controller, 'own', 'kubepods', 'burstable', 'podgone', 'container'), {
      recursive: true,
    });
  await cgroups.removeUnknown((uid) => uid === 'kept');
  for (const controller of ['cpu', 'memory', 'pids', 'freezer'])
    expect(
      readdirSync(join(mount, controller, 'own', 'kubepods', 'burstable')),
      controller,
    ).not.toContain('podgone');
  expect(readdirSync(join(mount, 'cpu', 'own', 'kubepods', 'burstable'))).toContain('podkept');
});

test('a machine without the controllers is refused by name', async () => {
  mkdirSync(join(mount, 'cpu'));
  await expect(LinuxCgroups.open(mount)).rejects.toThrow('has no controller memory');
});
