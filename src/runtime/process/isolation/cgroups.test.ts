import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Cgroups } from './cgroups.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cgroups-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (file: string, text: string): void => {
  mkdirSync(join(root, file, '..'), { recursive: true });
  writeFileSync(join(root, file), text);
};
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test('without any file system there are no groups, and limits are not set', () => {
  const cgroups = new Cgroups(root);
  expect(cgroups.version).toBe('none');
  cgroups.create('/pods/c', { memoryLimitInBytes: 5 });
  expect(cgroups.joinFiles('/pods/c')).toEqual([]);
  expect(cgroups.usage('/pods/c')).toBeUndefined();
  expect(cgroups.remove('/pods/c')).toBe(true);
});

test.skipIf(process.getuid?.() !== 0)('a hierarchy whose root has the mode 0555 is used', () => {
  write('memory/cgroup.procs', '');
  chmodSync(join(root, 'memory'), 0o555);
  expect(new Cgroups(root).version).toBe('v1');
});

test('a parent does not lead out of the hierarchy', () => {
  const cgroups = new Cgroups(root);
  expect(cgroups.pathOf(undefined, 'c')).toBe('/coxswain/c');
  expect(cgroups.pathOf('/kubepods/podx', 'c')).toBe('/kubepods/podx/c');
  expect(() => cgroups.pathOf('/a/../../b', 'c')).toThrow('invalid cgroup parent');
});

describe('version 1', () => {
  beforeEach(() => {
    for (const name of ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'])
      write(`${name}/cgroup.procs`, '');
    write('cpuset/cpuset.cpus', '0-1\n');
    write('cpuset/cpuset.mems', '0\n');
    write('cpuset/pods/c/cpuset.cpus', '');
    write('cpuset/pods/c/cpuset.mems', '');
    write('cpuset/pods/cpuset.cpus', '');
    write('cpuset/pods/cpuset.mems', '');
  });

  test('a group gets limits, and the cpuset of its parents', () => {
    const cgroups = new Cgroups(root);
    expect(cgroups.version).toBe('v1');
    cgroups.create('/pods/c', { cpuShares: 512, memoryLimitInBytes: 1000 });
    expect(read('cpu/pods/c/cpu.shares')).toBe('512');
    expect(read('memory/pods/c/memory.limit_in_bytes')).toBe('1000');
    expect(read('cpuset/pods/c/cpuset.cpus')).toBe('0-1');
    // There is no swap accounting here.
    cgroups.update('/pods/c', { memorySwapLimitInBytes: 2000 });
    expect(existsSync(join(root, 'memory/pods/c/memory.memsw.limit_in_bytes'))).toBe(false);
  });

  test('a limit that cannot be set is an error', () => {
    const cgroups = new Cgroups(root);
    mkdirSync(join(root, 'cpu/pods/c/cpu.shares'), { recursive: true });
    expect(() => cgroups.create('/pods/c', { cpuShares: 512 })).toThrow(
      'cannot set cpu.shares of the container to 512',
    );
  });

  test('usage and kills are read', () => {
    const cgroups = new Cgroups(root);
    write('memory/pods/c/memory.usage_in_bytes', '1000\n');
    write('memory/pods/c/memory.limit_in_bytes', '2000\n');
    write('memory/pods/c/memory.stat', 'total_inactive_file 300\ntotal_rss 600\n');
    write('memory/pods/c/memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n');
    write('cpuacct/pods/c/cpuacct.usage', '12345\n');
    write('cpu/pods/c/cgroup.procs', '7\n8\n');
    expect(cgroups.oomKills('/pods/c')).toBe(2);
    expect(cgroups.usage('/pods/c')).toMatchObject({
      cpuNanoseconds: 12345,
      usageBytes: 1000,
      workingSetBytes: 700,
      residentBytes: 600,
      processes: 2,
      availableBytes: 1300,
    });
    expect(cgroups.usage('/pods/other')).toBeUndefined();
  });
});

describe('version 2', () => {
  beforeEach(() => {
    write('cgroup.controllers', 'cpu memory pids\n');
    write('cgroup.subtree_control', '');
  });

  test('controllers are handed down, and limits set', () => {
    const cgroups = new Cgroups(root);
    expect(cgroups.version).toBe('v2');
    write('pods/cgroup.subtree_control', 'cpu memory pids\n');
    cgroups.create('/pods/c', { memoryLimitInBytes: 1000, cpuQuota: 20_000 });
    expect(read('cgroup.subtree_control')).toMatch(/^\+\w+$/);
    expect(read('pods/c/memory.max')).toBe('1000');
    expect(read('pods/c/cpu.max')).toBe('20000 100000');
  });

  test('usage and kills are read', () => {
    const cgroups = new Cgroups(root);
    write('pods/c/memory.current', '1000\n');
    write('pods/c/memory.max', 'max\n');
    write('pods/c/memory.stat', 'anon 600\ninactive_file 300\n');
    write('pods/c/memory.events', 'low 0\nmax 4\noom_kill 1\n');
    write('pods/c/cpu.stat', 'usage_usec 12\n');
    expect(cgroups.oomKills('/pods/c')).toBe(1);
    expect(cgroups.usage('/pods/c')).toMatchObject({
      cpuNanoseconds: 12_000,
      workingSetBytes: 700,
      residentBytes: 600,
      availableBytes: undefined,
    });
  });
});
