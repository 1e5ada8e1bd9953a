import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { podNetworkNames } from '#network/pod-network/names.ts';
import type { HostProcess } from '#runtime/host-processes.ts';
import { idOf, idsOf, liveIds } from './live-clusters.ts';
import { isStaleRoute, type StaleState, staleOf } from './stale-state.ts';

const process = (
  args: readonly string[],
  more: { open?: readonly string[]; mountinfo?: string } = {},
): HostProcess => ({
  // No such process: its working directory cannot be read.
  pid: 2 ** 30,
  parent: 1,
  processGroup: 1,
  args,
  environment: () => [],
  openFiles: () => more.open ?? [],
  info: (name) => (name === 'mountinfo' ? (more.mountinfo ?? '') : ''),
});

describe('a cluster lives while a process', () => {
  const isLive = (...processes: HostProcess[]): boolean => {
    const live = liveIds(processes);
    return idsOf('/data/x').every((id) => live.has(id));
  };

  test.each<[string, HostProcess, boolean]>([
    ['is given its directory', process(['node', 'cox.js', 'up', '--data-dir', '/data/x']), true],
    [
      'is given its directory in one word',
      process(['node', 'cox.js', 'up', '--data-dir=/data/x']),
      true,
    ],
    [
      'is given a file in it',
      process(['containerd', '--config', '/data/x/containerd/config.toml']),
      true,
    ],
    [
      'has a file in it open',
      process(['sleep', '9'], { open: ['/data/x/runtime/containers/1/stdout', 'socket:[1]'] }),
      true,
    ],
    [
      'has its root file system in it',
      process(['app'], {
        mountinfo:
          '9 8 0:7 / / rw - overlay overlay rw,lowerdir=/data/x/containerd/1,upperdir=/data/x/containerd/2',
      }),
      true,
    ],
    [
      'is none of these',
      process(['vim', '/data/y'], {
        open: ['/data/xx'],
        mountinfo: '9 8 0:7 / / rw - ext4 /dev/vda rw',
      }),
      false,
    ],
    ['is a thread of the kernel', process([]), false],
  ])('%s', (_, one, expected) => {
    expect(isLive(one)).toBe(expected);
  });
});

test('only names of clusters without a process are stale', () => {
  const [dead, live] = [idOf('/dead'), idOf('/live')];
  const tables = (...names: string[]): StaleState['tables'] =>
    names.map((name) => ({ family: 'inet', name }));
  const interfaces = (...names: string[]): StaleState['interfaces'] =>
    names.map((ifname) => ({ ifname, addr_info: [] }));
  const others = [
    'coxswain',
    'coxswain-announced',
    'nat',
    'kube-proxy',
    'coxswain-x',
    `coxswain-${dead}0`,
    `other-${dead}`,
  ];
  const stale = staleOf(
    {
      tables: tables(
        `coxswain-${dead}`,
        `coxswain-pods-${dead}`,
        `coxswain-${dead}-announced`,
        `coxswain-${live}`,
        ...others,
      ),
      interfaces: interfaces(
        `cxs${dead}`,
        `cxv${dead}`,
        `cox${dead}`,
        `cxs${live}`,
        'eth0',
        'docker0',
        `cxs${dead}0`,
        `br${dead}`,
      ),
    },
    (id) => id === live,
  );
  expect(stale.tables.map(({ name }) => name)).toEqual([
    `coxswain-${dead}`,
    `coxswain-pods-${dead}`,
    `coxswain-${dead}-announced`,
  ]);
  expect(stale.interfaces.map(({ ifname }) => ifname)).toEqual([
    `cxs${dead}`,
    `cxv${dead}`,
    `cox${dead}`,
  ]);
});

test('a route belongs to the cluster of its metric', () => {
  const { metric } = podNetworkNames(join('/dead', 'containerd'));
  expect(isStaleRoute({ metric }, new Set(idsOf('/live')))).toBe(true);
  expect(isStaleRoute({ metric }, new Set(idsOf('/dead')))).toBe(false);
  expect([isStaleRoute({}, new Set()), isStaleRoute({ metric: 100 }, new Set())]).toEqual([
    false,
    false,
  ]);
});
