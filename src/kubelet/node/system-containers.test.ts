// The cgroups of the kubelet and of all pods.

import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import type { CgroupStats } from '../cgroups/types.ts';
import { parseOwnCgroup, SystemContainers } from './system-containers.ts';

test.each([
  ['0::/user.slice/session.scope\n', '/user.slice/session.scope'],
  ['12:pids:/p\n4:memory:/own\n3:cpu,cpuacct:/c\n1:name=systemd:/s\n', '/own'],
  ['5:cpu,memory:/own:with:colons\n', '/own:with:colons'],
  ['0::/\n', '/'],
  ['', undefined],
])('%j is parsed', (text, path) => expect(parseOwnCgroup(text)).toBe(path));

test('cgroups that exist are read, with rates since the last request', async () => {
  const clock = new VirtualClock({ start: 0 });
  const stats = (usageNanoseconds: number): CgroupStats => ({
    cpu: { usageNanoseconds },
    memory: { usage: 3, workingSet: 2, rss: 1, swap: 4 },
    devices: [],
    pressure: {},
  });
  let nanoseconds = 1e9;
  const containers = new SystemContainers({
    clock,
    cgroups: { read: (path) => (path === '/own' ? stats(nanoseconds) : undefined) },
    kubelet: '/own',
    pods: '/absent',
    startedAt: 7,
  });
  expect(containers.read()).toEqual([
    {
      name: 'kubelet',
      startedAt: 7,
      cpu: { time: 0, coreNanoseconds: 1e9 },
      memory: { time: 0, usageBytes: 3, workingSetBytes: 2, rssBytes: 1 },
      swap: { time: 0, usageBytes: 4 },
    },
  ]);
  await clock.advance('2s');
  nanoseconds = 2e9;
  expect(containers.read()[0]?.cpu?.nanoCores).toBe(5e8);
});
