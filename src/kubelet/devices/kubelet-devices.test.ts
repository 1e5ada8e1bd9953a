import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { NODE_NAME } from '../testing/harness.ts';
import { type RealTimeKubelet, startRealTimeKubelet } from '../testing/real-time-kubelet.ts';
import { decodeCheckpoint } from './checkpoint.ts';
import { TestDevicePlugin, type TestPluginConfig } from './testing/device-plugin.ts';

const GPU = 'example.com/gpu';

let kubelet: RealTimeKubelet;
let plugins: TestDevicePlugin[];

beforeEach(async () => {
  plugins = [];
  kubelet = await startRealTimeKubelet();
});
afterEach(async () => {
  for (const plugin of plugins) plugin.stop();
  await kubelet.stop();
});

const healthy = (...ids: string[]): TestPluginConfig['devices'] =>
  ids.map((id) => ({ id, health: 'Healthy' }));
const directory = (): string => join(kubelet.rootDir, 'device-plugins');

async function startPlugin(overrides: Partial<TestPluginConfig> = {}): Promise<TestDevicePlugin> {
  const plugin = new TestDevicePlugin({
    directory: directory(),
    endpoint: 'gpu.sock',
    resource: GPU,
    devices: healthy('gpu-0', 'gpu-1'),
    ...overrides,
  });
  plugins.push(plugin);
  await plugin.start();
  await plugin.register();
  return plugin;
}

const hasGpus = (capacity: string, allocatable: string) =>
  kubelet.waitForNode(
    ({ status }) =>
      status.capacity?.[GPU] === capacity && status.allocatable?.[GPU] === allocatable,
  );

const gpuContainer = (count: string) => ({
  name: 'main',
  image: 'busybox:1.36',
  command: ['sleep', 'infinity'],
  resources: { limits: { [GPU]: count } },
});

describe('device plugins', () => {
  test('a pod runs with its devices; they are free when it has gone', async () => {
    await startPlugin({
      allocate: (ids) => ({
        envs: { GPUS: ids.join() },
        mounts: [{ containerPath: '/usr/lib/gpu', hostPath: '/opt/gpu', readOnly: true }],
        devices: ids.map((id) => ({
          hostPath: `/dev/${id}`,
          containerPath: `/dev/${id}`,
          permissions: 'rw',
        })),
        annotations: { 'example.com/gpus': ids.join() },
        cdiDevices: ids.map((id) => ({ name: `example.com/gpu=${id}` })),
      }),
    });
    await hasGpus('2', '2');
    await kubelet.createPod('one', { containers: [gpuContainer('2')] });
    const pod = await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
    expect(pod.status.containerStatuses?.[0]?.allocatedResourcesStatus).toEqual([
      {
        name: GPU,
        resources: [
          { resourceID: 'gpu-0', health: 'Healthy' },
          { resourceID: 'gpu-1', health: 'Healthy' },
        ],
      },
    ]);
    const [config] = kubelet.containers;
    expect(config).toMatchObject({
      devices: [
        { hostPath: '/dev/gpu-0', containerPath: '/dev/gpu-0', permissions: 'rw' },
        { hostPath: '/dev/gpu-1', containerPath: '/dev/gpu-1', permissions: 'rw' },
      ],
      CDIDevices: [{ name: 'example.com/gpu=gpu-0' }, { name: 'example.com/gpu=gpu-1' }],
      annotations: { 'example.com/gpus': 'gpu-0,gpu-1' },
    });
    expect(config?.mounts).toContainEqual({
      containerPath: '/usr/lib/gpu',
      hostPath: '/opt/gpu',
      readonly: true,
    });
    const variables = (config?.envs ?? []).map(
      ({ key, value }) => `${key}=${Buffer.from(value ?? []).toString()}`,
    );
    expect(variables).toContain('GPUS=gpu-0,gpu-1');

    await kubelet.createPod('two', { containers: [gpuContainer('1')] });
    const second = await kubelet.waitForPod('two', ({ status }) => status.phase === 'Failed');
    expect(second.status.reason).toBe(`OutOf${GPU}`);
    await kubelet.deletePod('one');
    await kubelet.waitForGone('one');
    await kubelet.createPod('three', { containers: [gpuContainer('1')] });
    await kubelet.waitForPod('three', ({ status }) => status.phase === 'Running');
  });

  test('an error of the plugin rejects the pod with upstream’s words', async () => {
    await startPlugin({
      allocate: () => Promise.reject(new Error('broken hardware')),
    });
    await hasGpus('2', '2');
    await kubelet.createPod('one', { containers: [gpuContainer('1')] });
    const { status } = await kubelet.waitForPod('one', (pod) => pod.status.phase === 'Failed');
    expect(status).toMatchObject({
      reason: 'UnexpectedAdmissionError',
      message:
        'Pod was rejected: Allocate failed due to rpc error: code = Internal desc = ' +
        'broken hardware, which is unexpected',
    });
    await kubelet.deletePod('one');
    await kubelet.waitForGone('one');
  });

  test('a plugin that hangs delays its pods only; a pod that is deleted meanwhile goes', async () => {
    const hold = withResolvers();
    await startPlugin({ allocate: async () => (await hold.promise, {}) });
    await hasGpus('2', '2');
    await kubelet.createPod('hanging', { containers: [gpuContainer('1')] });
    await kubelet.createPod('other', {
      containers: [{ name: 'main', image: 'busybox:1.36', command: ['sleep', 'infinity'] }],
    });
    await kubelet.waitForPod('other', ({ status }) => status.phase === 'Running');
    await kubelet.deletePod('hanging');
    hold.resolve();
    await kubelet.waitForGone('hanging');
  });

  test('health changes reach the Node and the pod; a crash makes all devices unhealthy', async () => {
    const plugin = await startPlugin();
    await hasGpus('2', '2');
    await kubelet.createPod('one', { containers: [gpuContainer('1')] });
    await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
    plugin.setDevices([{ id: 'gpu-0', health: 'Unhealthy' }, ...healthy('gpu-1')]);
    await hasGpus('2', '1');
    await kubelet.waitForPod(
      'one',
      ({ status }) =>
        status.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.resources?.[0]?.health ===
        'Unhealthy',
    );
    plugin.stop();
    await hasGpus('2', '0');
    await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
    await startPlugin({ endpoint: 'again.sock', devices: healthy('gpu-0', 'gpu-1', 'gpu-2') });
    await hasGpus('3', '3');
  });

  test('after a restart of the kubelet, running pods keep their devices', async () => {
    const first = await startPlugin();
    await hasGpus('2', '2');
    await kubelet.createPod('one', { containers: [gpuContainer('1')] });
    await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
    await kubelet.stopKubelet();
    first.stop();
    await kubelet.startKubelet();
    await hasGpus('0', '0');
    await startPlugin();
    await hasGpus('2', '2');
    await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
    await kubelet.createPod('two', { containers: [gpuContainer('1')] });
    await kubelet.waitForPod('two', ({ status }) => status.phase === 'Running');
    expect(kubelet.containers).toHaveLength(2);
    const { entries } = decodeCheckpoint(
      readFileSync(join(directory(), 'kubelet_internal_checkpoint'), 'utf8'),
    );
    expect(entries.map(({ devices }) => devices.get(-1)).toSorted()).toEqual([
      ['gpu-0'],
      ['gpu-1'],
    ]);
  });

  test('the kubelet starts with a damaged checkpoint, and removes old sockets only', async () => {
    const plugin = await startPlugin();
    await kubelet.stopKubelet();
    plugin.stop();
    writeFileSync(join(directory(), 'kubelet_internal_checkpoint'), '{"Data":');
    writeFileSync(join(directory(), 'DEPRECATION'), '');
    await kubelet.startKubelet();
    await startPlugin();
    await hasGpus('2', '2');
    expect(readFileSync(join(directory(), 'DEPRECATION'), 'utf8')).toBe('');
  });

  test('invalid registrations are refused', async () => {
    const plugin = await startPlugin();
    await expect(plugin.register({ version: 'v1alpha1' })).rejects.toThrow(
      'requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]',
    );
    await expect(plugin.register({ endpoint: '../../etc/x.sock' })).rejects.toThrow(
      'is not the name of a socket',
    );
    const native = await startPlugin({ endpoint: 'b.sock', resource: 'example.com/b' });
    native.stop();
    await expect(startPlugin({ endpoint: 'c.sock', resource: 'cpu' })).rejects.toThrow(
      'the ResourceName "cpu" is invalid',
    );
    await expect(
      startPlugin({ endpoint: 'd.sock', resource: 'x.kubernetes.io/cpu' }),
    ).rejects.toThrow('is invalid');
  });

  test('extended resources that others add to the Node are kept', async () => {
    await kubelet.client
      .resource(nodes)
      .patch(
        NODE_NAME,
        'application/merge-patch+json',
        { status: { capacity: { 'example.com/dongle': '4' } } },
        { subresource: 'status' },
      );
    await startPlugin();
    const node = await kubelet.waitForNode(
      ({ status }) =>
        status.allocatable?.['example.com/dongle'] === '4' && status.allocatable[GPU] === '2',
    );
    expect(node.status.capacity).toMatchObject({ 'example.com/dongle': '4', [GPU]: '2' });
  });

  test('extended resources that others add become allocatable, and those that they remove do not stay', async () => {
    const setDongles = (quantity: string | null) =>
      kubelet.client
        .resource(nodes)
        .patch(
          NODE_NAME,
          'application/merge-patch+json',
          { status: { capacity: { 'example.com/dongle': quantity } } },
          { subresource: 'status' },
        );
    await setDongles('4');
    await kubelet.waitForNode(({ status }) => status.allocatable?.['example.com/dongle'] === '4');
    await setDongles(null);
    await kubelet.waitForNode(
      ({ status }) => status.allocatable?.['example.com/dongle'] === undefined,
    );
  });
});
