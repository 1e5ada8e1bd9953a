import { beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { podUid, type Pod } from '../types.ts';
import { DeviceManager } from './device-manager.ts';
import { decodeCheckpoint } from './checkpoint.ts';
import type { AllocateResponse } from './schema.ts';
import { EMPTY_RESPONSE, FakePlugin } from './testing/fake-plugin.ts';

const GPU = 'example.com/gpu';
const NIC = 'example.com/nic';
const never = new AbortController().signal;

let clock: VirtualClock;
let stored: string | undefined;
let pods: Pod[];
let running: Set<string>;
let isReady: boolean;
let capacityChanges: number;
let healthChanges: string[];
let logger: ReturnType<typeof recordingLogger>;

const checkpoint: CheckpointFile = {
  read: () => Promise.resolve(stored),
  write: (contents) => {
    stored = contents;
    return Promise.resolve();
  },
};

beforeEach(() => {
  clock = new VirtualClock();
  stored = undefined;
  pods = [];
  running = new Set();
  isReady = true;
  capacityChanges = 0;
  healthChanges = [];
  logger = recordingLogger();
});

async function makeManager(): Promise<DeviceManager> {
  const manager = new DeviceManager({ clock, logger, checkpoint });
  await manager.start({
    active: () => (isReady ? new Set(pods.map(podUid)) : undefined),
    isRunning: (uid, container) => running.has(`${uid}/${container}`),
    onCapacity: () => capacityChanges++,
    onHealth: (uids) => healthChanges.push(...uids),
  });
  return manager;
}

/** Returns a manager with a plugin that has reported the devices. */
async function withPlugin(
  manager: DeviceManager,
  resource: string,
  ...ids: string[]
): Promise<FakePlugin> {
  const plugin = new FakePlugin();
  await manager.connect(resource, plugin, never);
  await report(plugin, ...ids);
  return plugin;
}

async function report(plugin: FakePlugin, ...ids: string[]): Promise<void> {
  const before = capacityChanges;
  plugin.report(...ids);
  await clock.runUntil(() => capacityChanges > before);
}

interface ContainerSpec {
  readonly name: string;
  readonly limits: Record<string, string>;
  readonly restartPolicy?: string;
}

function makePod(
  uid: string,
  containers: readonly ContainerSpec[],
  initContainers: readonly ContainerSpec[] = [],
): Pod {
  const make = ({ name, limits, restartPolicy }: ContainerSpec) => ({
    name,
    resources: { limits, requests: limits },
    ...(restartPolicy !== undefined && { restartPolicy }),
  });
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, namespace: 'default', uid, resourceVersion: '', creationTimestamp: '' },
    spec: { containers: containers.map(make), initContainers: initContainers.map(make) },
    status: {},
  } as Pod;
  pods.push(pod);
  return pod;
}

const gpuPod = (uid: string, count = '1'): Pod =>
  makePod(uid, [{ name: 'main', limits: { [GPU]: count } }]);

const idsOf = (manager: DeviceManager, uid: string, container = 'main'): string[] =>
  manager.devicesOf(uid, container).map(({ id }) => id);

describe('capacity', () => {
  test('follows the plugin, and is kept for five minutes when it has gone', async () => {
    const manager = await makeManager();
    expect(manager.capacity()).toEqual({ capacity: {}, allocatable: {}, removed: [] });
    const plugin = await withPlugin(manager, GPU, 'a', 'b', '!c');
    expect(manager.capacity()).toEqual({
      capacity: { [GPU]: '3' },
      allocatable: { [GPU]: '2' },
      removed: [],
    });
    plugin.end(new Error('crashed'));
    await clock.runUntil(() => manager.capacity().allocatable[GPU] === '0');
    expect(manager.capacity().capacity).toEqual({ [GPU]: '3' });
    await clock.advance('5m');
    expect(manager.capacity().removed).toEqual([]);
    await clock.advance('1s');
    expect(manager.capacity()).toEqual({ capacity: {}, allocatable: {}, removed: [GPU] });
    expect(manager.capacity().removed).toEqual([]);
    expect(decodeCheckpoint(stored!).registered.size).toBe(0);
  });

  test('a plugin that registers twice replaces itself, and its first stream is ignored', async () => {
    const manager = await makeManager();
    const first = await withPlugin(manager, GPU, 'a');
    const second = await withPlugin(manager, GPU, 'a', 'b');
    expect(first.isClosed).toBe(true);
    first.report('x', 'y', 'z');
    await clock.advance('1s');
    expect(manager.capacity().allocatable).toEqual({ [GPU]: '2' });
    second.end();
    await clock.runUntil(() => manager.capacity().allocatable[GPU] === '0');
  });

  test('devices that are reported twice count once', async () => {
    const manager = await makeManager();
    await withPlugin(manager, GPU, 'a', 'a', '!a', 'b');
    expect(manager.capacity()).toMatchObject({
      capacity: { [GPU]: '2' },
      allocatable: { [GPU]: '1' },
    });
  });
});

describe('allocation', () => {
  test('gives each container its own devices until they are used up', async () => {
    const manager = await makeManager();
    const plugin = await withPlugin(manager, GPU, 'a', 'b', 'c');
    const one = gpuPod('one', '2');
    expect(manager.needs(one)).toBe(true);
    await manager.allocate(one, never);
    expect(plugin.allocations).toEqual([['a', 'b']]);
    await expect(manager.allocate(gpuPod('two', '2'), never)).rejects.toThrow(
      `requested number of devices unavailable for ${GPU}. Requested: 2, Available: 1`,
    );
    await manager.allocate(gpuPod('three'), never);
    expect(idsOf(manager, 'three')).toEqual(['c']);
    // The second pod's devices are free when the first one has ended.
    pods = pods.filter((pod) => pod !== one);
    await manager.allocate(gpuPod('four', '2'), never);
    expect(idsOf(manager, 'four')).toEqual(['a', 'b']);
    expect(idsOf(manager, 'one')).toEqual([]);
  });

  test('two pods at once do not get the same device', async () => {
    const manager = await makeManager();
    const plugin = await withPlugin(manager, GPU, 'a', 'b');
    const hold = withResolvers<AllocateResponse>();
    plugin.onAllocate = () => hold.promise;
    const both = [manager.allocate(gpuPod('one'), never), manager.allocate(gpuPod('two'), never)];
    const third = manager.allocate(gpuPod('three'), never);
    await expect(third).rejects.toThrow('Requested: 1, Available: 0');
    hold.resolve(EMPTY_RESPONSE);
    await Promise.all(both);
    expect(plugin.allocations).toEqual([['a'], ['b']]);
  });

  test('a failed allocation releases its devices', async () => {
    const manager = await makeManager();
    const plugin = await withPlugin(manager, GPU, 'a');
    plugin.onAllocate = () => Promise.reject(new Error('broken hardware'));
    await expect(manager.allocate(gpuPod('one'), never)).rejects.toThrow('broken hardware');
    plugin.onAllocate = () => Promise.resolve(undefined);
    await expect(manager.allocate(gpuPod('two'), never)).rejects.toThrow(
      'no containers return in allocation response',
    );
    plugin.onAllocate = () => Promise.resolve(EMPTY_RESPONSE);
    await manager.allocate(gpuPod('three'), never);
    expect(idsOf(manager, 'three')).toEqual(['a']);
  });

  test('a hanging plugin delays no pods with other resources', async () => {
    const manager = await makeManager();
    const gpus = await withPlugin(manager, GPU, 'a');
    await withPlugin(manager, NIC, 'n');
    const hold = withResolvers<AllocateResponse>();
    gpus.onAllocate = () => hold.promise;
    const hanging = manager.allocate(gpuPod('one'), never);
    await manager.allocate(makePod('two', [{ name: 'main', limits: { [NIC]: '1' } }]), never);
    expect(idsOf(manager, 'two')).toEqual(['n']);
    hold.resolve(EMPTY_RESPONSE);
    await hanging;
  });

  test('init containers leave their devices to later containers, sidecars keep theirs', async () => {
    const manager = await makeManager();
    await withPlugin(manager, GPU, 'a', 'b', 'c');
    const pod = makePod(
      'one',
      [{ name: 'main', limits: { [GPU]: '2' } }],
      [
        { name: 'init', limits: { [GPU]: '2' } },
        { name: 'side', limits: { [GPU]: '1' }, restartPolicy: 'Always' },
      ],
    );
    await manager.allocate(pod, never);
    expect(idsOf(manager, 'one', 'init')).toEqual(['a', 'b']);
    expect(idsOf(manager, 'one', 'side')).toEqual(['a']);
    expect(idsOf(manager, 'one')).toEqual(['b', 'c']);
  });

  test('the plugin’s preference counts, as far as it is possible', async () => {
    const manager = await makeManager();
    const plugin = new FakePlugin();
    plugin.pluginOptions = { preStartRequired: true, getPreferredAllocationAvailable: true };
    plugin.preference = () => ['d', 'd', 'made up', 'c'];
    await manager.connect(GPU, plugin, never);
    await report(plugin, 'a', 'b', 'c', 'd');
    const pod = gpuPod('one', '3');
    await manager.allocate(pod, never);
    expect(plugin.allocations).toEqual([['d', 'c', 'a']]);
    await manager.containerDevices(pod, pod.spec.containers[0]!, never);
    expect(plugin.prestarts).toEqual([['d', 'c', 'a']]);
  });

  test('unregistered, lost and unhealthy devices have upstream’s messages', async () => {
    const manager = await makeManager();
    const plugin = await withPlugin(manager, GPU, '!a');
    await expect(manager.allocate(gpuPod('one'), never)).rejects.toThrow(
      `no healthy devices present; cannot allocate unhealthy devices ${GPU}`,
    );
    await report(plugin, 'a', 'b');
    const two = gpuPod('two');
    await manager.allocate(two, never);
    await report(plugin, '!a', 'b');
    await expect(manager.allocate(two, never)).rejects.toThrow(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${GPU}`,
    );
    await report(plugin, 'a', 'b');
    const more = {
      ...two,
      spec: { ...two.spec, containers: [{ name: 'main', resources: { limits: { [GPU]: '2' } } }] },
    };
    await expect(manager.allocate(more, never)).rejects.toThrow(
      `pod "two" container "main" changed request for resource "${GPU}" from 1 to 2`,
    );
  });

  test('resources of others, and those of ResourceClaims, are left alone', async () => {
    const manager = await makeManager();
    await withPlugin(manager, GPU, 'a');
    expect(manager.needs(makePod('one', [{ name: 'm', limits: { cpu: '1', [NIC]: '1' } }]))).toBe(
      false,
    );
    const claimed = gpuPod('two');
    const mapping = { containerName: 'main', resourceName: GPU, requestName: 'r' };
    expect(
      manager.needs({
        ...claimed,
        status: {
          extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings: [mapping] },
        },
      }),
    ).toBe(false);
  });
});

describe('containers', () => {
  test('get what their plugins have said; the first plugin wins', async () => {
    const manager = await makeManager();
    const gpus = await withPlugin(manager, GPU, 'a');
    const nics = await withPlugin(manager, NIC, 'n');
    gpus.onAllocate = () =>
      Promise.resolve({
        envs: { GPU: 'a', SHARED: 'gpu' },
        mounts: [{ containerPath: '/lib', hostPath: '/gpu/lib', readOnly: true }],
        devices: [{ containerPath: '/dev/a', hostPath: '/dev/gpu0', permissions: 'rw' }],
        annotations: { k: 'v' },
        cdiDevices: [{ name: 'example.com/gpu=a' }],
      });
    nics.onAllocate = () =>
      Promise.resolve({
        ...EMPTY_RESPONSE,
        envs: { SHARED: 'nic' },
        mounts: [{ containerPath: '/lib', hostPath: '/nic/lib', readOnly: false }],
        cdiDevices: [{ name: 'example.com/gpu=a' }, { name: 'example.com/nic=n' }],
      });
    const pod = makePod('one', [{ name: 'main', limits: { [GPU]: '1', [NIC]: '1' } }]);
    await manager.allocate(pod, never);
    const devices = await manager.containerDevices(pod, pod.spec.containers[0]!, never);
    expect(devices).toEqual({
      envs: new Map([
        ['GPU', 'a'],
        ['SHARED', 'gpu'],
      ]),
      mounts: [{ containerPath: '/lib', hostPath: '/gpu/lib', readonly: true }],
      devices: [{ containerPath: '/dev/a', hostPath: '/dev/gpu0', permissions: 'rw' }],
      annotations: { k: 'v' },
      cdiDevices: ['example.com/gpu=a', 'example.com/nic=n'],
    });
    expect(logger.records.filter(({ message }) => message.includes('disagree'))).toHaveLength(2);
  });

  test('health of a device reaches its pod only', async () => {
    const manager = await makeManager();
    const plugin = await withPlugin(manager, GPU, 'a', 'b');
    await manager.allocate(gpuPod('one'), never);
    await manager.allocate(gpuPod('two'), never);
    await report(plugin, 'a', '!b');
    expect(healthChanges).toEqual(['two']);
    expect(manager.devicesOf('two', 'main')).toMatchObject([{ id: 'b', isHealthy: false }]);
    expect(manager.devicesOf('one', 'main')).toMatchObject([{ id: 'a', isHealthy: true }]);
  });
});

describe('restart of the kubelet', () => {
  test('running containers keep their devices, before the plugin is back', async () => {
    const before = await makeManager();
    await withPlugin(before, GPU, 'a', 'b');
    const pod = gpuPod('one');
    await before.allocate(pod, never);

    isReady = false;
    running.add('one/main');
    const after = await makeManager();
    expect(after.takeIsNew()).toBe(false);
    expect(after.capacity()).toEqual({
      capacity: { [GPU]: '0' },
      allocatable: { [GPU]: '0' },
      removed: [],
    });
    // The pod that has devices fits, another one does not.
    expect(after.allocatableFor(pod, { cpu: '1' })).toEqual({ cpu: '1', [GPU]: '1' });
    expect(after.allocatableFor(gpuPod('two'), { cpu: '1' })).toEqual({ cpu: '1', [GPU]: '0' });
    await after.allocate(pod, never);
    expect(idsOf(after, 'one')).toEqual(['a']);

    isReady = true;
    await withPlugin(after, GPU, 'a', 'b');
    await after.allocate(gpuPod('three'), never);
    expect(idsOf(after, 'three')).toEqual(['b']);
  });

  test('after a reboot, a pod without its plugin is rejected', async () => {
    const before = await makeManager();
    await withPlugin(before, GPU, 'a');
    const pod = gpuPod('one');
    await before.allocate(pod, never);
    isReady = false;
    const after = await makeManager();
    await expect(after.allocate(pod, never)).rejects.toThrow('no healthy devices present');
  });

  test('a damaged checkpoint is reported, and the manager works without it', async () => {
    stored = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}';
    const manager = await makeManager();
    expect(manager.takeIsNew()).toBe(false);
    expect(logger.records.map(({ message }) => message)).toEqual([
      'device manager: checkpoint not read, device allocations may be outdated',
    ]);
    await withPlugin(manager, GPU, 'a');
    await manager.allocate(gpuPod('one'), never);
    expect(decodeCheckpoint(stored).entries).toHaveLength(1);
  });

  test('a node without a checkpoint is new, once', async () => {
    const manager = await makeManager();
    expect([manager.takeIsNew(), manager.takeIsNew()]).toEqual([true, false]);
  });
});
