import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import { TestDevicePlugin } from '../devices/testing/device-plugin.ts';
import { type RealTimeKubelet, startRealTimeKubelet } from '../testing/real-time-kubelet.ts';
import { podResourcesSchema, type PodResourcesSchema } from './schema.ts';

const GPU = 'example.com/gpu';
let kubelet: RealTimeKubelet;
let plugin: TestDevicePlugin;
let api: RpcConnection<PodResourcesSchema>;

beforeEach(async () => {
  kubelet = await startRealTimeKubelet();
  api = new RpcConnection(
    podResourcesSchema,
    join(kubelet.rootDir, 'pod-resources', 'kubelet.sock'),
    systemClock,
  );
  plugin = new TestDevicePlugin({
    directory: join(kubelet.rootDir, 'device-plugins'),
    endpoint: 'gpu.sock',
    resource: GPU,
    devices: [
      { id: 'a', health: 'Healthy', topology: { nodes: [{ id: 0 }, { id: 1 }] } },
      { id: 'b', health: 'Healthy' },
      { id: 'c', health: 'Unhealthy' },
    ],
  });
  await plugin.start();
  await plugin.register();
  await kubelet.waitForNode(({ status }) => status.allocatable?.[GPU] === '2');
});
afterEach(async () => {
  api.close();
  plugin.stop();
  await kubelet.stop();
});

const onNode = (id: number) => ({ nodes: [{ id }] });

test('lists the devices of pods and of the node', async () => {
  const { devices } = await api.call('PodResourcesLister', 'GetAllocatableResources', {});
  expect(devices).toEqual([
    { resourceName: GPU, deviceIds: ['a'], topology: onNode(0) },
    { resourceName: GPU, deviceIds: ['a'], topology: onNode(1) },
    { resourceName: GPU, deviceIds: ['b'] },
  ]);
  await kubelet.createPod('one', {
    containers: [
      {
        name: 'main',
        image: 'busybox:1.36',
        command: ['sleep', 'infinity'],
        resources: { limits: { [GPU]: '1' } },
      },
      { name: 'plain', image: 'busybox:1.36', command: ['sleep', 'infinity'] },
    ],
  });
  await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
  const { podResources } = await api.call('PodResourcesLister', 'List', {});
  const empty = { cpuIds: [], memory: [], dynamicResources: [] };
  const expected = {
    name: 'one',
    namespace: 'default',
    containers: [
      {
        name: 'main',
        devices: [
          { resourceName: GPU, deviceIds: ['a'], topology: onNode(0) },
          { resourceName: GPU, deviceIds: ['a'], topology: onNode(1) },
        ],
        ...empty,
      },
      { name: 'plain', devices: [], ...empty },
    ],
  };
  expect(podResources).toEqual([expected]);
  const one = await api.call('PodResourcesLister', 'Get', {
    podName: 'one',
    podNamespace: 'default',
  });
  expect(one.podResources).toEqual(expected);
  await expect(
    api.call('PodResourcesLister', 'Get', { podName: 'two', podNamespace: 'default' }),
  ).rejects.toThrow('rpc error: code = Unknown desc = pod two in namespace default not found');
});

test('too many calls are rejected', async () => {
  const calls = Array.from({ length: 200 }, () =>
    api.call('PodResourcesLister', 'GetAllocatableResources', {}),
  );
  const outcomes = await Promise.allSettled(calls);
  const failed = outcomes.find(({ status }) => status === 'rejected');
  expect((failed as PromiseRejectedResult).reason).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
});
