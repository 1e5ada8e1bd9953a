import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { statsSummary } from '../server/stats.ts';
import { FakeSystem } from '../testing/fake-system.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { Volume } from '../types.ts';
import { measureOf } from './measured-volume.ts';
import { PodFilesReader, type PodFilesConfig } from './pod-files-reader.ts';
import { volumeMetrics } from './volume-metrics.ts';

const GIB = 1024 ** 3;

const pod = makePod({
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: {
    containers: [makeContainer('main')],
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'ram', emptyDir: { medium: 'Memory' } },
      { name: 'host', hostPath: { path: '/tmp' } },
      { name: 'data', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'own', ephemeral: {} },
    ],
  },
});

const STATS = {
  availableBytes: 60,
  capacityBytes: 100,
  usedBytes: 40,
  inodes: 10,
  inodesFree: 7,
  inodesUsed: 3,
};

function start(overrides: Partial<PodFilesConfig> = {}) {
  const clock = new VirtualClock();
  const system = new FakeSystem();
  system.usage.set('/scratch', { usedBytes: 4096, inodesUsed: 2 });
  system.usage.set('/main', { usedBytes: 100, inodesUsed: 1 });
  system.usage.set('/etc-hosts', { usedBytes: 10, inodesUsed: 1 });
  const asked: string[] = [];
  const abnormal: string[] = [];
  const reader = new PodFilesReader({
    system,
    clock,
    logger: silentLogger,
    rootDir: '/root',
    podLogsDir: '/logs',
    mountedVolumes: () =>
      new Map((pod.spec.volumes ?? []).map(({ name }) => [name, `/root/pods/u1/${name}`])),
    isLocalVolume: (_, path) => path.endsWith('/own'),
    driverStats: (uid, path) => {
      asked.push(`${uid} ${path}`);
      return Promise.resolve({ ...STATS, condition: { abnormal: true, message: 'broken' } });
    },
    onAbnormal: (_, volume, message) => void abnormal.push(`${volume}: ${message}`),
    signal: new AbortController().signal,
    ...overrides,
  });
  return { reader, clock, system, asked, abnormal };
}

test('each type of volume is measured as upstream measures it', () => {
  const measured = (source: Omit<Volume, 'name'>): string => measureOf({ name: 'v', ...source });
  expect([
    measured({ emptyDir: {} }),
    measured({ emptyDir: { medium: 'Memory' } }),
    measured({ secret: {} }),
    measured({ projected: { sources: [] } }),
    measured({ persistentVolumeClaim: { claimName: 'c' } }),
    measured({ csi: { driver: 'd' } }),
    measured({ hostPath: { path: '/' } }),
    measured({ image: { reference: 'i' } }),
  ]).toEqual(['files', 'file-system', 'files', 'files', 'claim', 'driver', 'none', 'none']);
});

test('volumes, logs and /etc/hosts; claims are named, and abnormal volumes reported', async () => {
  const { reader, asked, abnormal } = start();
  const files = (await reader.read([pod], 'all')).get('u1');
  expect(
    files?.volumes.map(({ name, claim, usedBytes }) => [name, claim?.name, usedBytes]),
  ).toEqual([
    ['scratch', undefined, 4096],
    ['ram', undefined, 40 * GIB],
    ['data', 'claim', 40],
    ['own', 'web-own', 40 * GIB],
  ]);
  expect(files?.volumes.map(({ isEphemeral }) => isEphemeral)).toEqual([true, false, false, false]);
  expect(files?.logs.get('main')).toEqual({ usedBytes: 100, inodesUsed: 1 });
  expect(files?.hosts).toEqual({ usedBytes: 10, inodesUsed: 1 });
  expect(asked).toEqual(['u1 /root/pods/u1/data']);
  expect(abnormal).toEqual(['data: broken']);
});

test('a measurement is valid for a minute', async () => {
  const { reader, clock, asked } = start();
  await reader.read([pod], 'claims');
  await reader.read([pod], 'claims');
  expect(asked).toHaveLength(1);
  await clock.advance(60_001);
  await reader.read([pod], 'claims');
  expect(asked).toHaveLength(2);
});

test('a driver that hangs delays a reader by two seconds, and is asked once', async () => {
  let calls = 0;
  const { reader, clock } = start({
    driverStats: () => {
      calls++;
      return new Promise(() => undefined);
    },
  });
  const first = reader.read([pod], 'all');
  await clock.advance(2_000);
  const files = (await first).get('u1');
  expect(files?.volumes.map(({ name }) => name)).toEqual(['scratch', 'ram', 'own']);
  const second = reader.read([pod], 'all');
  await clock.advance(2_000);
  await second;
  expect(calls).toBe(1);
});

test('a driver that fails leaves the last measurement, and other volumes unaffected', async () => {
  let fails = false;
  const { reader, clock } = start({
    driverStats: () =>
      fails ? Promise.reject(new Error('driver is gone')) : Promise.resolve(STATS),
  });
  await reader.read([pod], 'all');
  fails = true;
  await clock.advance(61_000);
  const files = (await reader.read([pod], 'all')).get('u1');
  expect(files?.volumes.find(({ name }) => name === 'data')?.usedBytes).toBe(40);
  expect(files?.volumes).toHaveLength(4);
});

test('the summary has the fields of upstream’s types', async () => {
  const { reader } = start();
  const files = await reader.read([pod], 'all');
  const time = 0;
  const fs = { time, ...STATS };
  const summary = statsSummary({
    usage: {
      node: undefined,
      pods: [
        {
          uid: 'u1',
          name: 'web',
          namespace: 'default',
          sandboxId: 's',
          startedAt: 1,
          containers: [{ id: 'c', name: 'main', image: 'x', startedAt: 1 }],
        },
      ],
    },
    nodeName: 'n',
    startedAt: 1,
    details: { time, fs },
    systemContainers: [],
    files,
  });
  const [shown] = summary['pods'] as readonly Readonly<Record<string, unknown>>[];
  const timeText = expect.any(String) as string;
  expect(shown?.['volume']).toContainEqual({
    ...STATS,
    time: timeText,
    name: 'data',
    pvcRef: { name: 'claim', namespace: 'default' },
    volumeHealthStats: { abnormal: true },
  });
  expect(shown?.['ephemeral-storage']).toEqual({
    ...STATS,
    time: timeText,
    usedBytes: 4096 + 100 + 10,
    inodesUsed: 4,
  });
  const containers = shown?.['containers'] as readonly Readonly<Record<string, unknown>>[];
  expect(containers[0]?.['logs']).toEqual({
    ...STATS,
    time: timeText,
    usedBytes: 100,
    inodesUsed: 1,
  });
});

test('metrics name each claim once', async () => {
  const { reader } = start();
  const files = [...(await reader.read([pod], 'claims')).values()];
  const text = volumeMetrics([...files, ...files]);
  expect(text.match(/^kubelet_volume_stats_used_bytes\{.*$/gm)).toEqual([
    'kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="claim"} 40',
    `kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="web-own"} ${40 * GIB}`,
  ]);
  expect(text).toContain(
    'kubelet_volume_stats_health_status_abnormal{namespace="default",persistentvolumeclaim="claim"} 1\n',
  );
});
