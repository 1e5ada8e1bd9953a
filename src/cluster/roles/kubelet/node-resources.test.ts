import { expect, test } from 'vitest';
import { UserError } from '../../user-error.ts';
import { type NodeResourceOptions, resourceSettings } from './node-resources.ts';

test('without options the defaults stay', () => {
  const { eviction, imageGc, ...others } = resourceSettings({});
  expect(others).toEqual({ pullRate: { perSecond: 5, burst: 10 } });
  expect(eviction).toMatchObject({ enforceAllocatable: true, soft: {} });
  expect(imageGc).toEqual({
    highThresholdPercent: 85,
    lowThresholdPercent: 80,
    minAgeMs: 120_000,
    maxAgeMs: 0,
  });
});

test('hard thresholds replace the defaults, unless they are merged', () => {
  const evictionHard = { 'memory.available': '1Gi' };
  expect(resourceSettings({ evictionHard }).eviction?.hard).toEqual(evictionHard);
  const merged = resourceSettings({ evictionHard, mergeDefaultEvictionSettings: true });
  expect(merged.eviction?.hard).toMatchObject({ ...evictionHard, 'nodefs.available': '10%' });
});

test('the rate of pulls', () => {
  expect(resourceSettings({ registryQps: 0 }).pullRate).toBeUndefined();
  expect(resourceSettings({ registryQps: 2, registryBurst: 3 }).pullRate).toEqual({
    perSecond: 2,
    burst: 3,
  });
});

test('seccomp and user namespaces', () => {
  const settings = resourceSettings({ seccompDefault: true, userNamespacesIdsPerPod: 131_072 });
  expect(settings).toMatchObject({
    seccompDefault: 'RuntimeDefault',
    userNamespaceIdsPerPod: 131_072,
  });
});

test.each<[NodeResourceOptions, string]>([
  [{ evictionHard: { 'memory.available': 'x' } }, 'quantities must match'],
  [{ evictionSoft: { 'memory.available': '1Gi' } }, 'grace period must be specified'],
  [
    { imageGcHighThreshold: 80 },
    'imageGCLowThresholdPercent (--image-gc-low-threshold) 80 must be less than ' +
      'imageGCHighThresholdPercent (--image-gc-high-threshold) 80',
  ],
  [{ imageGcHighThreshold: 101 }, 'must be between 0 and 100, inclusive'],
  [{ kubeReserved: { memory: '-1Gi' } }, 'resource quantity for memory cannot be negative: -1Gi'],
  [{ kubeReserved: { pods: '1' } }, 'kubeReserved (--kube-reserved): cannot reserve "pods"'],
  [{ enforceNodeAllocatable: ['system-reserved'] }, 'only "pods" and "none" are supported'],
  [{ allowedUnsafeSysctls: ['vm.x'] }, 'are not known to be namespaced'],
  [{ containerLogMaxSize: '0' }, '(--container-log-max-size) must be positive'],
  [{ containerLogMaxFiles: 1 }, '(--container-log-max-files) 1 must be greater than 1'],
  [{ podMaxPids: 5 }, 'podPidsLimit (--pod-max-pids) needs cgroupRoot (--cgroup-root)'],
  [{ podMaxPids: 0, cgroupRoot: '/' }, 'must be positive, or -1'],
  [{ cgroupRoot: '/../etc' }, 'is no path such as /NAME'],
  [{ registryQps: -1 }, 'registryPullQPS (--registry-qps) -1 must not be a negative number'],
  [{ registryBurst: -1 }, 'registryBurst (--registry-burst) -1 must not be a negative number'],
  [{ userNamespacesIdsPerPod: 0 }, 'userNamespaces.idsPerPod must not be less than 65536'],
  [{ userNamespacesIdsPerPod: 65_537 }, 'userNamespaces.idsPerPod must be a multiple of 65536'],
  [{ userNamespacesIdsPerPod: 2 ** 33 }, 'must not be more than 4294967295'],
  [{ eventQps: -1 }, 'eventRecordQPS (--event-qps) -1 must not be a negative number'],
])('%j is refused', (options, message) => {
  expect(() => resourceSettings(options)).toThrow(UserError);
  expect(() => resourceSettings(options)).toThrow(`invalid configuration: `);
  expect(() => resourceSettings(options)).toThrow(message);
});
