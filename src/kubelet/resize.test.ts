// Running pods get more or fewer resources, and debug containers are added to them.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { pods } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { CriError } from '#cri/index.ts';
import { startHarness, type Harness } from './testing/harness.ts';
import type { Pod } from './types.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(async () => {
  await harness.stop();
});

const isRunning = (pod: Pod): boolean => pod.status.phase === 'Running';
const main = (cpu: string, more: New<v1.Container> = {}): New<v1.Container> => ({
  name: 'main',
  image: 'busybox:1.36',
  command: ['sleep', 'infinity'],
  resources: { requests: { cpu }, limits: { cpu: '4' } },
  ...more,
});
const condition = (pod: Pod, type: string) =>
  pod.status.conditions?.find((candidate) => candidate.type === type);
const containerOf = (pod: Pod) => pod.status.containerStatuses?.[0];

async function run(name: string, cpu: string, more: New<v1.Container> = {}): Promise<Pod> {
  await harness.createPod(name, { containers: [main(cpu, more)] });
  return harness.waitForPod(name, isRunning);
}

function patch(name: string, subresource: string, body: object): Promise<Pod> {
  const inDefault = harness.client.resource(pods).namespace('default');
  return inDefault.patch(name, 'application/strategic-merge-patch+json', body, { subresource });
}

const resize = (name: string, cpu: string): Promise<Pod> =>
  patch(name, 'resize', {
    spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
  });

/** Returns the CPU limit in thousandths, as the runtime has it. */
async function sharesOf(pod: Pod): Promise<number | undefined> {
  const id = containerOf(pod)?.containerID?.replace(/^.*:\/\//, '') ?? '';
  const { status } = await harness.runtime.runtime.containerStatus(id);
  return status?.resources?.linux?.cpuShares;
}

describe('resize', () => {
  test('a container gets its new resources without a restart', async () => {
    const before = await run('web', '1');
    expect(containerOf(before)).toMatchObject({
      allocatedResources: { cpu: '1' },
      resources: { requests: { cpu: '1' } },
    });
    await resize('web', '2');
    const after = await harness.waitForPod(
      'web',
      (pod) => containerOf(pod)?.resources?.requests?.['cpu'] === '2',
    );
    expect(containerOf(after)).toMatchObject({ allocatedResources: { cpu: '2' }, restartCount: 0 });
    expect(containerOf(after)?.containerID).toBe(containerOf(before)?.containerID);
    expect(after.status.observedGeneration).toBe(2);
    await harness.kubelet.stop();
    await harness.restartKubelet();
    await harness.clock.advance('10s');
    const events = await harness.eventsOf('web');
    expect(events.filter((event) => event.startsWith('ResizeCompleted'))).toHaveLength(1);
    expect(condition(after, 'PodResizePending')).toBeUndefined();
    expect(await sharesOf(after)).toBe(2048);
  });

  test('a container with resize policy RestartContainer is restarted', async () => {
    const before = await run('web', '1', {
      resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
    });
    await resize('web', '2');
    const after = await harness.waitForPod(
      'web',
      (pod) => containerOf(pod)?.restartCount === 1 && containerOf(pod)?.ready === true,
    );
    expect(containerOf(after)?.containerID).not.toBe(containerOf(before)?.containerID);
    expect(containerOf(after)).toMatchObject({
      allocatedResources: { cpu: '2' },
      resources: { requests: { cpu: '2' } },
    });
    expect(await harness.eventsOf('web')).toContain(
      'Killing: Container main resize requires restart',
    );
  });

  test.each([
    ['NotRequired', 0],
    ['RestartContainer', 1],
  ])('a container without limits follows those of its pod: %s', async (restartPolicy, restarts) => {
    const limits = (cpu: string) => ({ limits: { cpu, memory: '64Mi' }, requests: { cpu } });
    await harness.createPod('web', {
      resources: limits('1'),
      containers: [
        { ...main('1'), resources: {}, resizePolicy: [{ resourceName: 'cpu', restartPolicy }] },
      ],
    });
    await harness.waitForPod('web', isRunning);
    await patch('web', 'resize', { spec: { resources: limits('2') } });
    const after = await harness.waitForPod(
      'web',
      (pod) =>
        pod.status.observedGeneration === 2 &&
        condition(pod, 'PodResizeInProgress') === undefined &&
        containerOf(pod)?.restartCount === restarts &&
        containerOf(pod)?.ready === true,
    );
    const id = containerOf(after)?.containerID?.replace(/^.*:\/\//, '') ?? '';
    const { status } = await harness.runtime.runtime.containerStatus(id);
    expect(status?.resources?.linux?.cpuQuota).toBe(200_000);
  });

  test('a resize beyond the node’s capacity is infeasible, and can be reverted', async () => {
    await run('web', '1', { resources: { requests: { cpu: '1' } } });
    await resize('web', '5');
    const pending = await harness.waitForPod(
      'web',
      (pod) => condition(pod, 'PodResizePending') !== undefined,
    );
    expect(condition(pending, 'PodResizePending')).toMatchObject({
      status: 'True',
      reason: 'Infeasible',
      message: "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
      observedGeneration: 2,
    });
    expect(containerOf(pending)).toMatchObject({
      allocatedResources: { cpu: '1' },
      resources: { requests: { cpu: '1' } },
    });
    await resize('web', '1500m');
    const after = await harness.waitForPod(
      'web',
      (pod) => containerOf(pod)?.allocatedResources?.['cpu'] === '1500m',
    );
    expect(condition(after, 'PodResizePending')).toBeUndefined();
  });

  test('events tell how a resize goes on', async () => {
    await run('web', '1');
    await run('other', '2');
    await resize('web', '3');
    await harness.waitForPod('web', (pod) => condition(pod, 'PodResizePending') !== undefined);
    await harness.deletePod('other', 0);
    await harness.waitForPod(
      'web',
      (pod) => containerOf(pod)?.resources?.requests?.['cpu'] === '3',
      '1m',
    );
    await harness.clock.advance('10s');
    const resources = '{"limits":{"cpu":"4"},"requests":{"cpu":"3"}}';
    const containers = `"containers":[{"name":"main","resources":${resources}}],"generation":2`;
    const error =
      '"error":"Node didn\'t have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"';
    expect((await harness.eventsOf('web')).filter((event) => event.includes('esize'))).toEqual([
      `ResizeDeferred: Pod resize Deferred: {${containers},${error}}`,
      `ResizeStarted: Pod resize started: {${containers}}`,
      `ResizeCompleted: Pod resize completed: {${containers}}`,
    ]);
  });

  test('a resize waits for resources of another pod', async () => {
    await run('web', '1');
    await run('other', '2');
    await resize('web', '3');
    const pending = await harness.waitForPod(
      'web',
      (pod) => condition(pod, 'PodResizePending') !== undefined,
    );
    expect(condition(pending, 'PodResizePending')).toMatchObject({
      reason: 'Deferred',
      message: "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000",
    });
    await harness.deletePod('other', 0);
    await harness.waitForPod(
      'web',
      (pod) => containerOf(pod)?.allocatedResources?.['cpu'] === '3',
      '1m',
    );
  });

  test('a deferred resize stays deferred after a restart of the kubelet', async () => {
    await run('web', '1');
    await run('other', '2');
    await resize('web', '3');
    await harness.waitForPod('web', (pod) => condition(pod, 'PodResizePending') !== undefined);
    await harness.kubelet.stop();
    await harness.restartKubelet();
    await harness.clock.advance('10s');
    expect(containerOf(await harness.getPod('web'))).toMatchObject({
      allocatedResources: { cpu: '1' },
      restartCount: 0,
    });
    await harness.deletePod('other', 0);
    await harness.waitForPod(
      'web',
      (pod) => containerOf(pod)?.allocatedResources?.['cpu'] === '3',
      '1m',
    );
  });

  test.each(['pod', 'container'])('a memory limit of a %s below its use waits', async (level) => {
    const memory = (amount: string) => ({
      requests: { memory: amount },
      limits: { memory: amount },
    });
    const spec = (amount: string, more: New<v1.Container> = { name: 'main' }): New<v1.PodSpec> =>
      level === 'pod'
        ? { resources: memory(amount), containers: [more] }
        : { containers: [{ ...more, resources: memory(amount) }] };
    await harness.createPod('web', spec('64Mi', main('1', { resources: {} })));
    await harness.waitForPod('web', isRunning);
    await patch('web', 'resize', { spec: spec('10Ki') });
    const waiting = await harness.waitForPod(
      'web',
      (pod) => condition(pod, 'PodResizeInProgress')?.reason === 'Error',
    );
    const used = 8 * 1024 * 1024;
    expect(condition(waiting, 'PodResizeInProgress')?.message).toBe(
      'cannot decrease memory limits: [attempting to set pod memory limit (10240) below current ' +
        `usage (${used}), attempting to set container "main" memory limit (10240) below current ` +
        `usage (${used})]`,
    );
    expect(waiting.status).toMatchObject({
      allocatedResources: { memory: '10Ki' },
      resources: memory('64Mi'),
    });
    await patch('web', 'resize', { spec: spec('32Mi') });
    const after = await harness.waitForPod(
      'web',
      (pod) => pod.status.resources?.limits?.['memory'] === '32Mi',
    );
    expect(condition(after, 'PodResizeInProgress')).toBeUndefined();
    const id = containerOf(after)?.containerID?.replace(/^.*:\/\//, '') ?? '';
    const { status } = await harness.runtime.runtime.containerStatus(id);
    expect(status?.resources?.linux?.memoryLimitInBytes).toBe(32 * 1024 * 1024);
  });

  test('a failure of the runtime is reported in the condition, and retried', async () => {
    await run('web', '1');
    const { runtime } = harness.runtime;
    const original = runtime.updateContainerResources.bind(runtime);
    runtime.updateContainerResources = () =>
      Promise.reject(new CriError('Unimplemented', 'not here'));
    await resize('web', '2');
    const failed = await harness.waitForPod(
      'web',
      (pod) => condition(pod, 'PodResizeInProgress')?.reason === 'Error',
    );
    expect(condition(failed, 'PodResizeInProgress')?.message).toContain('not here');
    expect(containerOf(failed)).toMatchObject({
      allocatedResources: { cpu: '2' },
      resources: { requests: { cpu: '1' } },
    });
    await harness.clock.advance('10s');
    const errors = (await harness.eventsOf('web')).filter((each) => each.startsWith('ResizeError'));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(
      /^ResizeError: Pod resize error: .*"generation":2,"error":".*not here/,
    );
    runtime.updateContainerResources = original;
    const after = await harness.waitForPod(
      'web',
      (pod) => condition(pod, 'PodResizeInProgress') === undefined,
    );
    expect(containerOf(after)?.resources?.requests).toEqual({ cpu: '2' });
  });
});

test('a debug container is started once, beside the others', async () => {
  await run('web', '1');
  const ephemeralContainers = [
    {
      name: 'debug',
      image: 'busybox:1.36',
      command: ['sleep', 'infinity'],
      targetContainerName: 'main',
    },
  ];
  await patch('web', 'ephemeralcontainers', { spec: { ephemeralContainers } });
  const pod = await harness.waitForPod(
    'web',
    ({ status }) => status.ephemeralContainerStatuses?.[0]?.state.running !== undefined,
  );
  expect(containerOf(pod)).toMatchObject({ ready: true, restartCount: 0 });
  const id = pod.status.ephemeralContainerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? '';
  await harness.runtime.runtime.stopContainer(id, 0);
  const ended = await harness.waitForPod(
    'web',
    ({ status }) => status.ephemeralContainerStatuses?.[0]?.state.terminated !== undefined,
  );
  await harness.clock.advance('5m');
  expect((await harness.getPod('web')).status.ephemeralContainerStatuses).toEqual(
    ended.status.ephemeralContainerStatuses,
  );
  expect(isRunning(ended)).toBe(true);
});
