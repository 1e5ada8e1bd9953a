import { expect, test } from 'vitest';
import { UserError } from '../../user-error.ts';
import { resourceManagerSettings, withReservedCpus } from './resource-manager-options.ts';
import { shutdownPeriods } from './shutdown-options.ts';

test('nothing is assigned by default', () => {
  expect(resourceManagerSettings({}, '')).toBeUndefined();
});

test('the options have upstream’s names', () => {
  const options = {
    cpuManagerPolicy: 'static',
    cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
    reservedCpus: '0-1',
    memoryManagerPolicy: 'Static',
    reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    topologyManagerPolicy: 'restricted',
    topologyManagerScope: 'pod',
  };
  expect(resourceManagerSettings(options, 'CPUManagerPolicyAlphaOptions=true')).toMatchObject({
    cpuManagerPolicy: 'static',
    reservedSystemCPUs: '0-1',
    cpuManagerReconcileMs: 10_000,
    topologyManagerScope: 'pod',
  });
  expect(() => resourceManagerSettings(options, '')).toThrow('Alpha-level Options not enabled');
});

test.each([
  [{ cpuManagerPolicy: 'dynamic' }, 'unknown policy: "dynamic"'],
  [{ memoryManagerPolicy: 'static' }, 'unknown policy: "static"'],
  [
    { topologyManagerPolicy: 'x' },
    'topologyManagerPolicy (--topology-manager-policy) "x" must be one of: ["none" "best-effort" ' +
      '"restricted" "single-numa-node"]',
  ],
  [{ topologyManagerScope: 'node' }, 'must be one of: "container", or "pod"'],
  [{ reservedCpus: '1-' }, 'unable to parse reservedSystemCPUs (--reserved-cpus) 1-'],
  [{ cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } }, 'none policy'],
  [{ topologyManagerPolicyOptions: { 'max-allowable-numa-nodes': '4' } }, 'minimum value'],
  [{ reservedMemory: [{ numaNode: 0, limits: { cpu: '1' } }] }, 'the limit type "cpu"'],
  [{ reservedMemory: [{ numaNode: 0, limits: { memory: '0' } }] }, 'may not be zero'],
  [
    {
      reservedMemory: [
        { numaNode: 0, limits: { memory: '1' } },
        { numaNode: 0, limits: { memory: '2' } },
      ],
    },
    'has a duplicate value for NUMA node 0',
  ],
])('%j is rejected', (options, message) => {
  expect(() => resourceManagerSettings(options, '')).toThrow(UserError);
  expect(() => resourceManagerSettings(options, '')).toThrow(message);
});

test('a list of CPUs replaces reserved amounts', () => {
  expect(withReservedCpus('0,2-3', { cpu: '2', memory: '1Gi' }, { cpu: '1' })).toEqual({
    kubeReserved: { memory: '1Gi' },
    systemReserved: { cpu: '3' },
  });
  expect(withReservedCpus(undefined, { cpu: '2' }, undefined)).toEqual({
    kubeReserved: { cpu: '2' },
    systemReserved: undefined,
  });
});

test('shutdown periods are those of priorities, or of ordinary and critical pods', () => {
  expect(shutdownPeriods({})).toBeUndefined();
  expect(
    shutdownPeriods({ shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 }),
  ).toEqual([
    { priority: 0, seconds: 20 },
    { priority: 2_000_000_000, seconds: 10 },
  ]);
  const byPriority = [{ priority: 5, shutdownGracePeriodSeconds: 7 }];
  expect(shutdownPeriods({ shutdownGracePeriodByPodPriority: byPriority })).toEqual([
    { priority: 5, seconds: 7 },
  ]);
});

test.each([
  [
    { shutdownGracePeriod: 1000, shutdownGracePeriodCriticalPods: 2000 },
    'shutdownGracePeriodCriticalPods {2s} must be <= shutdownGracePeriod {1s}',
  ],
  [{ shutdownGracePeriod: 10 }, 'must be either zero or otherwise >= 1 sec'],
  [
    {
      shutdownGracePeriod: 1000,
      shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: 1 }],
    },
    'Cannot specify both',
  ],
  [
    { shutdownGracePeriodByPodPriority: [{ priority: 1.5, shutdownGracePeriodSeconds: 1 }] },
    'whole numbers',
  ],
])('the shutdown options %j are rejected', (options, message) => {
  expect(() => shutdownPeriods(options)).toThrow(message);
});
