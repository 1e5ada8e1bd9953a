// The tree of cgroups, against directories in the form of v1 and of v2.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#machinery/log.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { Pod } from '../types.ts';
import { LinuxCgroups } from './cgroup-system.ts';
import { PodCgroups } from './pod-cgroups.ts';

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

async function start(version: 1 | 2, active: readonly Pod[] = []): Promise<PodCgroups> {
  if (version === 2) writeFileSync(join(mount, 'cgroup.controllers'), 'cpu memory pids');
  else for (const name of ['cpu', 'memory', 'pids']) mkdirSync(join(mount, name));
  const cgroups = new PodCgroups({
    system: await LinuxCgroups.open(mount),
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
