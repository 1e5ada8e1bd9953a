import { describe, expect, test } from 'vitest';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { Container } from '../types.ts';
import { cgroupFiles, podSettings, sharesOf } from './settings.ts';

const MI = 1024 ** 2;
const withResources = (
  ...each: readonly Pick<NonNullable<Container['resources']>, 'requests' | 'limits'>[]
) =>
  makePod({
    spec: {
      containers: each.map((resources, index) => makeContainer(`c${index}`, { resources })),
    },
    status: {},
  });

describe('the limits of a pod', () => {
  test('a Guaranteed pod has the sum of those of its containers', () => {
    const own = { cpu: '500m', memory: '100Mi' };
    const pod = withResources({ requests: own, limits: own }, { requests: own, limits: own });
    expect(podSettings(pod, undefined)).toEqual({
      cpuShares: 1024,
      cpuQuotaUs: 100_000,
      memoryBytes: 200 * MI,
    });
  });

  test('one container without a limit takes that of the pod away', () => {
    const pod = withResources(
      { requests: { cpu: '100m' }, limits: { memory: '10Mi', cpu: '1' } },
      { limits: { cpu: '1' } },
    );
    // Requests that are absent are those of limits only in the API server.
    expect(podSettings(pod, 50)).toEqual({ cpuShares: 102, cpuQuotaUs: 200_000, maxProcesses: 50 });
  });

  test('a BestEffort pod has the least share', () => {
    expect(podSettings(withResources({}), undefined)).toEqual({ cpuShares: 2 });
  });

  test('limits of the pod itself', () => {
    const pod = makePod({
      spec: {
        resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } },
        containers: [makeContainer('main')],
      },
      status: {},
    });
    expect(podSettings(pod, undefined)).toEqual({
      cpuShares: 1024,
      cpuQuotaUs: 200_000,
      memoryBytes: 1024 * MI,
    });
  });
});

describe('files', () => {
  const settings = { cpuShares: 1024, cpuQuotaUs: 50_000, memoryBytes: MI, maxProcesses: 9 };
  const written = (...args: Parameters<typeof cgroupFiles>): Record<string, string> =>
    Object.fromEntries(
      cgroupFiles(...args).map(({ controller, name, value }) => [`${controller}/${name}`, value]),
    );

  test('of v1', () => {
    expect(written(settings, 1)).toEqual({
      'cpu/cpu.shares': '1024',
      'cpu/cpu.cfs_period_us': '100000',
      'cpu/cpu.cfs_quota_us': '50000',
      'memory/memory.limit_in_bytes': '1048576',
      'pids/pids.max': '9',
    });
  });

  test('of v2', () => {
    expect(written(settings, 2)).toEqual({
      'cpu/cpu.weight': '39',
      'cpu/cpu.max': '50000 100000',
      'memory/memory.max': '1048576',
      'pids/pids.max': '9',
    });
  });

  test('limits that are gone are taken back', () => {
    expect(written({}, 1)).toMatchObject({
      'cpu/cpu.cfs_quota_us': '-1',
      'memory/memory.limit_in_bytes': '-1',
      'pids/pids.max': 'max',
    });
    expect(written({}, 2)).toMatchObject({
      'cpu/cpu.max': 'max 100000',
      'memory/memory.max': 'max',
    });
  });

  test('shares have bounds', () => {
    expect([sharesOf(0), sharesOf(1000), sharesOf(1e9)]).toEqual([2, 1024, 262_144]);
  });
});
