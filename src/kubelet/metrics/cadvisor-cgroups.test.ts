import { expect, test } from 'vitest';

import type { ContainerCgroup } from '../cgroups/reader.ts';
import { cadvisorMetrics } from './cadvisor-metrics.ts';

const MACHINE = {
  cpuCores: 4,
  memoryBytes: 1024,
  machineID: 'm',
  systemUUID: 's',
  bootID: 'b',
  kernelVersion: '6.1',
  osVersion: 'Linux',
};
const UID = '0f0e-1';

function textOf(cgroup: ContainerCgroup | undefined): string {
  const sandbox: ContainerCgroup = {
    path: `/kubepods/burstable/pod${UID}/sandbox`,
    stats: { cpu: {}, memory: {}, devices: [], pressure: {} },
  };
  return cadvisorMetrics({
    usage: {
      node: undefined,
      pods: [
        {
          uid: UID,
          name: 'p',
          namespace: 'd',
          sandboxId: 'sandbox',
          startedAt: 0,
          containers: [{ id: 'c1', name: 'c', image: 'i', startedAt: 0 }],
        },
      ],
    },
    pods: [],
    cgroups: new Map([
      ['sandbox', sandbox],
      ...(cgroup === undefined ? [] : [['c1', cgroup] as const]),
    ]),
    deviceNames: new Map([['8:0', '/dev/sda']]),
    podUid: () => UID,
    machine: MACHINE,
    now: 0,
  });
}

const LABELS = `container="c",id="/kubepods/burstable/pod${UID}/c1",image="i",name="c1",namespace="d",pod="p"`;

test('the counters of a cgroup have the names and labels of cAdvisor', () => {
  const text = textOf({
    path: `/kubepods/burstable/pod${UID}/c1`,
    stats: {
      cpu: {
        userNanoseconds: 2e9,
        systemNanoseconds: 1e9,
        periods: 10,
        throttledPeriods: 3,
        throttledNanoseconds: 5e8,
      },
      memory: { cache: 7, oomKills: 1, failures: 2, activeFile: 3, inactiveFile: 4 },
      devices: [{ major: 8, minor: 0, readBytes: 5, writtenBytes: 6, reads: 1, writes: 2 }],
      pids: 9,
      pidsLimit: Number.POSITIVE_INFINITY,
      processes: [11, 12, 13, 14],
      pressure: { cpu: { someMicroseconds: 1500, fullMicroseconds: 0 } },
    },
    descriptors: { files: 20, sockets: 3, maxOpenFiles: 1024 },
  });
  for (const sample of [
    `container_cpu_user_seconds_total{${LABELS}} 2`,
    `container_cpu_system_seconds_total{${LABELS}} 1`,
    `container_cpu_cfs_periods_total{${LABELS}} 10`,
    `container_cpu_cfs_throttled_periods_total{${LABELS}} 3`,
    `container_cpu_cfs_throttled_seconds_total{${LABELS}} 0.5`,
    `container_memory_cache{${LABELS}} 7`,
    `container_memory_failcnt{${LABELS}} 2`,
    `container_memory_total_active_file_bytes{${LABELS}} 3`,
    `container_memory_total_inactive_file_bytes{${LABELS}} 4`,
    `container_oom_events_total{${LABELS}} 1`,
    `container_processes{${LABELS}} 4`,
    `container_file_descriptors{${LABELS}} 20`,
    `container_sockets{${LABELS}} 3`,
    `container_ulimits_soft{${LABELS},ulimit="max_open_files"} 1024`,
    `container_threads{${LABELS}} 9`,
    `container_threads_max{${LABELS}} 0`,
    `container_pressure_cpu_waiting_seconds_total{${LABELS}} 0.0015`,
    `container_pressure_cpu_stalled_seconds_total{${LABELS}} 0`,
    `container_fs_reads_bytes_total{${LABELS},device="/dev/sda"} 5`,
    `container_fs_writes_total{${LABELS},device="/dev/sda"} 2`,
    `container_blkio_device_usage_total{${LABELS},device="/dev/sda",major="8",minor="0",operation="Write"} 6`,
  ])
    expect(text).toContain(`\n${sample}\n`);
});

test('without a cgroup there are none, and the IDs of pods come from their sandboxes', () => {
  const text = textOf(undefined);
  expect(text).not.toContain('container_cpu_user_seconds_total');
  expect(text).toContain(`id="/kubepods/burstable/pod${UID}/c1"`);
  expect(text).toContain(`id="/kubepods/burstable/pod${UID}",image="",name=""`);
});
