// A kubelet that runs short, with a simulated runtime, a real API server and a virtual clock.

import { afterEach, describe, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { startHarness, NODE_NAME, type Harness } from './testing/harness.ts';
import { FakeSystem } from './testing/fake-system.ts';
import type { Pod } from './types.ts';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
let harness: Harness;
let system: FakeSystem;

async function start(overrides: Parameters<typeof startHarness>[0] = {}): Promise<void> {
  system = new FakeSystem();
  harness = await startHarness({ nodeSystem: system, ...overrides });
}
afterEach(() => harness.stop());

const running = (pod: Pod): boolean => pod.status.phase === 'Running';
const failed = (pod: Pod): boolean => pod.status.phase === 'Failed';
/** A pod that uses `used` and requests `requested`. */
const usingMemory = (used: string, requested?: string) =>
  [
    {
      containers: [
        {
          name: 'main',
          image: 'busybox:1.36',
          command: ['sleep', 'infinity'],
          ...(requested !== undefined && { resources: { requests: { memory: requested } } }),
        },
      ],
    },
    { annotations: { 'simulation.coxswain.dev/memory': used } },
  ] as const;

async function condition(type: string) {
  const node = await harness.client.resource(nodes).get(NODE_NAME);
  return node.status.conditions?.find((one) => one.type === type);
}

describe('memory pressure', () => {
  test('evicts one pod at a time: the one most above its request', async () => {
    await start();
    await harness.createPod('modest', ...usingMemory('100Mi', '200Mi'));
    await harness.createPod('greedy', ...usingMemory('900Mi', '200Mi'));
    await harness.createPod('greedier', ...usingMemory('1200Mi', '200Mi'));
    for (const name of ['modest', 'greedy', 'greedier']) await harness.waitForPod(name, running);
    expect((await condition('MemoryPressure'))?.status).toBe('False');

    system.memoryState = { capacity: 8 * GIB, available: 50 * MIB };
    const evicted = await harness.waitForPod('greedier', failed, '1m');
    const message =
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Container main was using 1200Mi, request is 200Mi, has larger consumption of memory. ';
    expect(evicted.status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    expect(evicted.status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message,
        lastTransitionTime: expect.any(String),
      }),
    );
    expect(running(await harness.getPod('greedy'))).toBe(true);
    system.memoryState = { capacity: 8 * GIB, available: 5 * GIB };
    await harness.clock.advance('1m');
    expect(running(await harness.getPod('greedy'))).toBe(true);
    expect(running(await harness.getPod('modest'))).toBe(true);

    expect(await harness.eventsOf('greedier')).toContain(`Evicted: ${message}`);
    const events = await harness.eventsOf(NODE_NAME);
    expect(events).toContain('EvictionThresholdMet: Attempting to reclaim memory');
    expect(events.at(-1)).toBe(
      `NodeHasInsufficientMemory: Node ${NODE_NAME} status is now: NodeHasInsufficientMemory`,
    );
    expect(await condition('MemoryPressure')).toMatchObject({
      status: 'True',
      reason: 'KubeletHasInsufficientMemory',
      message: 'kubelet has insufficient memory available',
    });
    // The condition holds for the transition period.
    await harness.clock.advance('5m');
    expect(await condition('MemoryPressure')).toMatchObject({
      status: 'False',
      reason: 'KubeletHasSufficientMemory',
    });
  });

  test('rejects BestEffort pods only, unless they tolerate it', async () => {
    await start();
    system.memoryState = { capacity: 8 * GIB, available: 50 * MIB };
    await harness.clock.advance('20s');
    await harness.createPod('best-effort');
    const rejected = await harness.waitForPod('best-effort', failed);
    expect(rejected.status).toMatchObject({
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    });
    system.memoryState = { capacity: 8 * GIB, available: 5 * GIB };
    await harness.createPod('burstable', ...usingMemory('10Mi', '20Mi'));
    await harness.waitForPod('burstable', running);
    await harness.createPod('tolerant', {
      tolerations: [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }],
    });
    await harness.waitForPod('tolerant', running);
  });

  test('spares critical pods', async () => {
    await start();
    await harness.createPod('critical', {
      ...usingMemory('2Gi')[0],
      priority: 2_000_000_000,
      priorityClassName: 'system-cluster-critical',
    });
    await harness.waitForPod('critical', running);
    system.memoryState = { capacity: 8 * GIB, available: 50 * MIB };
    await harness.clock.advance('5m');
    expect(running(await harness.getPod('critical'))).toBe(true);
  });
});

describe('disk pressure', () => {
  test('rejects all pods but critical ones, and evicts the one with the most files', async () => {
    await start();
    for (const name of ['small', 'large'])
      await harness.createPod(name, { volumes: [{ name: 'scratch', emptyDir: {} }] });
    for (const name of ['small', 'large']) await harness.waitForPod(name, running);
    const { metadata } = await harness.getPod('large');
    system.usage.set(`${metadata.uid}/volumes/kubernetes.io~empty-dir/scratch`, {
      usedBytes: 50 * GIB,
      inodesUsed: 10,
    });
    system.disk = { ...system.disk, availableBytes: 5 * GIB };
    const evicted = await harness.waitForPod('large', failed, '1m');
    expect(evicted.status.message).toMatch(
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+, available: 5Gi\. /,
    );
    system.disk = { ...system.disk, availableBytes: 60 * GIB };
    await harness.clock.advance('1m');
    expect(running(await harness.getPod('small'))).toBe(true);
    await harness.createPod('late', ...usingMemory('10Mi', '20Mi'));
    const late = await harness.waitForPod('late', failed);
    expect(late.status.message).toBe('Pod was rejected: The node had condition: [DiskPressure]. ');
    expect((await condition('DiskPressure'))?.reason).toBe('KubeletHasDiskPressure');
  });
});

describe('limits of local storage', () => {
  test('a pod above the sizeLimit of an emptyDir volume is evicted', async () => {
    await start();
    const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '10Mi' } }];
    for (const name of ['below', 'above']) await harness.createPod(name, { volumes });
    for (const name of ['below', 'above']) await harness.waitForPod(name, running);
    const { metadata } = await harness.getPod('above');
    system.usage.set(`${metadata.uid}/volumes/kubernetes.io~empty-dir/scratch`, {
      usedBytes: 11 * MIB,
    });
    const evicted = await harness.waitForPod('above', failed);
    expect(evicted.status).toMatchObject({
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi". ',
    });
    expect(evicted.status.conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
    expect(running(await harness.getPod('below'))).toBe(true);
    expect((await condition('DiskPressure'))?.status).toBe('False');
  });
});

describe('critical pods', () => {
  test('other pods end for one that does not fit', async () => {
    await start();
    const requesting = (memory: string) => usingMemory('10Mi', memory)[0];
    await harness.createPod('large', requesting('5Gi'));
    await harness.createPod('small', requesting('1Gi'));
    for (const name of ['large', 'small']) await harness.waitForPod(name, running);
    await harness.createPod('critical', {
      ...requesting('6Gi'),
      priority: 2_000_000_000,
      priorityClassName: 'system-cluster-critical',
    });
    await harness.waitForPod('critical', running);
    const preempted = await harness.getPod('large');
    expect(preempted.status).toMatchObject({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    expect(preempted.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet' }),
    );
    expect(running(await harness.getPod('small'))).toBe(true);
    expect(await harness.eventsOf('large')).toContain(
      'Preempting: Preempted in order to admit critical pod',
    );
  });

  test('a pod with a parameter that is not allowed is rejected', async () => {
    await start();
    await harness.createPod('tuner', {
      securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] },
    });
    const rejected = await harness.waitForPod('tuner', failed);
    expect(rejected.status).toMatchObject({
      reason: 'SysctlForbidden',
      message: 'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted',
    });
  });
});
