// VolumeBinding: the nodes where a pod's claims can be satisfied, with which volumes, and the
// reasons of rejections.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import {
  type CSIDriver,
  csiDrivers,
  type CSINode,
  csiNodes,
  csiStorageCapacities,
  type CSIStorageCapacity,
  storageClasses,
} from '#api/groups/storage/v1/index.ts';
import { CycleState } from '#scheduler/framework/cycle-state.ts';
import {
  ActionType,
  clusterEvent,
  type EventResource,
  matchesEvent,
  UPDATE,
} from '#scheduler/framework/events.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type {
  FilterPlugin,
  Plugin,
  PreBindPlugin,
  PreFilterPlugin,
  ReservePlugin,
} from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { makeHandle } from '#scheduler/testing/handle.ts';
import { TestInformers } from '#scheduler/testing/informers.ts';
import { makeNode, makeNodeInfo, makePodInfo } from '#scheduler/testing/objects.ts';
import {
  makeClaim,
  makeClass,
  makeVolume,
  mounting,
  onHost,
  type VolumeOptions,
} from '#scheduler/testing/volumes.ts';
import type { PersistentVolume } from '../volumes/claims.ts';
import { Matches } from './matching.ts';
import { volumeBinding } from './volume-binding.ts';

type Binding = Plugin & PreFilterPlugin & FilterPlugin & ReservePlugin & PreBindPlugin;

const refused = (message: string): string => `UnschedulableAndUnresolvable: ${message}`;
const NODE_CONFLICT = refused("node(s) didn't match PersistentVolume's node affinity");
const NO_MATCH = refused("node(s) didn't find available persistent volumes to bind");
const NO_SPACE = refused('node(s) did not have enough free storage');

let world: TestInformers;
beforeEach(() => {
  world = new TestInformers();
});
afterEach(() => {
  world.stop();
});

async function make(args?: unknown): Promise<Binding> {
  const handle = makeHandle({ informers: world.informers, clock: world.clock, ended: world.ended });
  const plugin = volumeBinding.create({ value: args, path: 'args' }, handle) as Binding;
  await world.sync();
  return plugin;
}

const text = (status: Status): string => `${status.code}: ${status.message}`;

function ask(
  plugin: Binding,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  state = new CycleState(),
): string | readonly string[] {
  const pre = plugin.preFilter(state, pod, nodes);
  if (pre instanceof Status) return pre.code === 'Skip' ? 'skip' : text(pre);
  return nodes.map((node) => {
    const status = plugin.filter(state, pod, node);
    return status === undefined ? 'ok' : text(status);
  });
}

const [a, b] = [
  makeNodeInfo('a', { labels: { zone: 'z1' } }),
  makeNodeInfo('b', { labels: { zone: 'z2' } }),
];
const pod = (...claims: string[]): PodInfo => makePodInfo('p', { spec: mounting(...claims) });

describe('VolumeBinding with claims that cannot be used', () => {
  test.each<[string, () => void, string]>([
    ['missing', () => undefined, 'persistentvolumeclaim "c" not found'],
    [
      'lost',
      () => world.put(persistentVolumeClaims, makeClaim('c', { volume: 'v', phase: 'Lost' })),
      'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
    ],
    [
      'being deleted',
      () => world.put(persistentVolumeClaims, makeClaim('c', { deleting: true })),
      'persistentvolumeclaim "c" is being deleted',
    ],
    [
      'of no class',
      () => world.put(persistentVolumeClaims, makeClaim('c', { spec: { storageClassName: '' } })),
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    [
      'of an unknown class',
      () => world.put(persistentVolumeClaims, makeClaim('c')),
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    [
      'of a class that binds at once',
      () => {
        world.put(storageClasses, makeClass('late', 'x', { volumeBindingMode: 'Immediate' }));
        world.put(persistentVolumeClaims, makeClaim('c'));
      },
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    [
      'bound halfway',
      () => {
        world.put(storageClasses, makeClass('late', 'x'));
        world.put(persistentVolumeClaims, makeClaim('c', { spec: { volumeName: 'v' } }));
      },
      'pod has unbound immediate PersistentVolumeClaims',
    ],
  ])('%s', async (_what, put, message) => {
    put();
    const plugin = await make();
    expect(ask(plugin, pod('c'), [a, b])).toBe(refused(message));
  });

  test('ephemeral, not created yet or not owned by the pod', async () => {
    const ephemeral = makePodInfo('p', { spec: { volumes: [{ name: 'v', ephemeral: {} }] } });
    const plugin = await make();
    expect(ask(plugin, ephemeral, [a])).toBe(
      refused('waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'),
    );
    world.put(persistentVolumeClaims, makeClaim('p-v'));
    await world.sync();
    expect(ask(plugin, ephemeral, [a])).toBe(
      refused('PVC default/p-v was not created for pod default/p (pod is not owner)'),
    );
    world.put(storageClasses, makeClass('late', 'x'));
    world.put(persistentVolumeClaims, makeClaim('p-v', { owner: 'p' }));
    await world.sync();
    expect(ask(plugin, ephemeral, [a])).toEqual(['ok']);
  });
});

describe('VolumeBinding with bound claims', () => {
  test('runs where all volumes can be used', async () => {
    world.put(persistentVolumes, makeVolume('everywhere', { phase: 'Bound' }));
    world.put(persistentVolumes, makeVolume('here', { phase: 'Bound', host: 'a' }));
    world.put(persistentVolumes, makeVolume('there', { phase: 'Bound', host: 'b' }));
    for (const name of ['everywhere', 'here', 'there', 'gone']) {
      world.put(persistentVolumeClaims, makeClaim(name, { volume: name }));
    }
    const plugin = await make();
    expect(ask(plugin, pod('everywhere'), [a, b])).toBe('skip');
    expect(ask(plugin, pod('everywhere', 'here'), [a, b])).toEqual(['ok', NODE_CONFLICT]);
    expect(ask(plugin, pod('there', 'here'), [a, b])).toEqual([NODE_CONFLICT, NODE_CONFLICT]);
    const missing = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
    expect(ask(plugin, pod('gone'), [a, b])).toEqual([refused(missing), refused(missing)]);
    expect(ask(plugin, makePodInfo('p'), [a, b])).toBe('skip');
  });
});

describe('VolumeBinding with volumes of in-tree plugins', () => {
  const csiNode = (name: string, plugins?: string): CSINode => ({
    metadata: {
      name,
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(plugins !== undefined && {
        annotations: { 'storage.alpha.kubernetes.io/migrated-plugins': plugins },
      }),
    },
    spec: { drivers: [] },
  });
  const inZone = (key: string) => ({
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key, operator: 'In' as const, values: ['z1'] }] },
        ],
      },
    },
  });
  const ZONE = 'topology.kubernetes.io/zone';
  const nodes = ['plain', 'migrated', 'elsewhere'].map((name) => {
    const zone = name === 'elsewhere' ? 'z2' : 'z1';
    return makeNodeInfo(name, {
      labels: name === 'plain' ? { [ZONE]: zone } : { 'topology.ebs.csi.aws.com/zone': zone },
    });
  });

  test('requires the driver’s labels on nodes that leave the plugin to it', async () => {
    const ebs = { awsElasticBlockStore: { volumeID: 'vol-1' } };
    const put = (name: string, options: VolumeOptions): void => {
      world.put(persistentVolumes, makeVolume(name, { phase: 'Bound', ...options }));
      world.put(persistentVolumeClaims, makeClaim(name, { volume: name }));
    };
    put('by-affinity', { spec: { ...ebs, ...inZone(ZONE) } });
    put('by-label', { spec: ebs, labels: { [ZONE]: 'z1' } });
    put('other', { spec: { hostPath: { path: '/x' }, ...inZone(ZONE) } });
    put('wrong', { spec: { awsElasticBlockStore: { volumeID: 'aws://z1/x' } } });
    world.put(csiNodes, csiNode('plain', 'kubernetes.io/gce-pd'));
    for (const name of ['migrated', 'elsewhere'])
      world.put(csiNodes, csiNode(name, 'kubernetes.io/gce-pd,kubernetes.io/aws-ebs'));
    const plugin = await make();
    expect(ask(plugin, pod('by-affinity'), nodes)).toEqual(['ok', 'ok', NODE_CONFLICT]);
    expect(ask(plugin, pod('by-label'), nodes)).toEqual(['ok', 'ok', NODE_CONFLICT]);
    expect(ask(plugin, pod('other'), nodes)).toEqual(['ok', NODE_CONFLICT, NODE_CONFLICT]);
    const why =
      'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z1/x)';
    const error = `Error: could not translate pv: ${why}`;
    expect(ask(plugin, pod('wrong'), nodes)).toEqual(['ok', error, error]);
  });

  test('is woken by nodes that leave more plugins to drivers', async () => {
    const plugin = await make();
    const wakes = (before: CSINode | undefined, after: CSINode): boolean =>
      (plugin.eventsToRegister?.() ?? []).some(
        ({ event, hint }) =>
          matchesEvent(
            event,
            clusterEvent('CSINode', before === undefined ? ActionType.Add : UPDATE, ''),
          ) &&
          (hint?.(pod('c').pod, { before, after }) ?? true),
      );
    expect(wakes(undefined, csiNode('n'))).toBe(true);
    expect(wakes(csiNode('n'), csiNode('n', 'kubernetes.io/aws-ebs'))).toBe(true);
    expect(wakes(csiNode('n'), csiNode('n'))).toBe(false);
  });
});

describe('VolumeBinding with claims that wait for their first consumer', () => {
  const driver = (storageCapacity?: boolean): CSIDriver => ({
    metadata: {
      name: 'csi',
      uid: 'csi',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { ...(storageCapacity !== undefined && { storageCapacity }) },
  });
  const capacity = (
    name: string,
    zone: string | undefined,
    more: Partial<CSIStorageCapacity>,
  ): CSIStorageCapacity => ({
    metadata: {
      name,
      namespace: 'kube-system',
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    storageClassName: 'late',
    ...(zone !== undefined && { nodeTopology: { matchLabels: { zone } } }),
    ...more,
  });

  test('finds a volume for each claim, and none twice', async () => {
    world.put(storageClasses, makeClass('late', 'kubernetes.io/no-provisioner'));
    world.put(persistentVolumes, makeVolume('a1', { host: 'a' }));
    world.put(persistentVolumes, makeVolume('a2', { host: 'a', storage: '5Gi' }));
    world.put(persistentVolumes, makeVolume('b1', { host: 'b' }));
    world.put(persistentVolumeClaims, makeClaim('large', { storage: '3Gi' }));
    world.put(persistentVolumeClaims, makeClaim('small'));
    world.put(persistentVolumeClaims, makeClaim('small-too'));
    const plugin = await make();
    expect(ask(plugin, pod('small'), [a, b])).toEqual(['ok', 'ok']);
    expect(ask(plugin, pod('large', 'small'), [a, b])).toEqual(['ok', NO_MATCH]);
    expect(ask(plugin, pod('small', 'small-too', 'large'), [a, b])).toEqual([NO_MATCH, NO_MATCH]);
  });

  test('provisions volumes if the class allows it', async () => {
    const allowedTopologies = [
      { matchLabelExpressions: [{ key: 'zone', values: ['z1', 'z3'] }] },
      {},
    ];
    world.put(storageClasses, makeClass('late', 'csi', { allowedTopologies }));
    world.put(persistentVolumes, makeVolume('b1', { host: 'b' }));
    world.put(persistentVolumeClaims, makeClaim('small'));
    world.put(persistentVolumeClaims, makeClaim('large', { storage: '3Gi' }));
    const plugin = await make();
    expect(ask(plugin, pod('small'), [a, b])).toEqual(['ok', 'ok']);
    expect(ask(plugin, pod('large'), [a, b])).toEqual(['ok', NO_MATCH]);
    // The claim's volume is being provisioned for a node already.
    world.put(
      persistentVolumeClaims,
      makeClaim('large', { annotations: { 'volume.kubernetes.io/selected-node': 'b' } }),
    );
    await world.sync();
    expect(ask(plugin, pod('large'), [a, b])).toEqual([NO_MATCH, NO_MATCH]);
  });

  test('checks the capacity of drivers that publish it', async () => {
    world.put(storageClasses, makeClass('late', 'csi'));
    world.put(persistentVolumeClaims, makeClaim('c', { storage: '2Gi' }));
    const plugin = await make();
    expect(ask(plugin, pod('c'), [a, b])).toEqual(['ok', 'ok']);
    world.put(csiDrivers, driver(true));
    world.put(csiStorageCapacities, capacity('1', 'z1', { capacity: '2Gi' }));
    world.put(
      csiStorageCapacities,
      capacity('2', 'z2', { capacity: '10Gi', maximumVolumeSize: '1Gi' }),
    );
    world.put(csiStorageCapacities, capacity('3', 'z2', {}));
    world.put(csiStorageCapacities, capacity('4', undefined, { capacity: '1Ti' }));
    world.put(
      csiStorageCapacities,
      capacity('5', 'z2', { capacity: '1Ti', storageClassName: 'other' }),
    );
    await world.sync();
    expect(ask(plugin, pod('c'), [a, b])).toEqual(['ok', NO_SPACE]);
    world.put(csiDrivers, driver(false));
    await world.sync();
    expect(ask(plugin, pod('c'), [a, b])).toEqual(['ok', 'ok']);
  });

  test('reserves its choice against other pods until it is released', async () => {
    world.put(storageClasses, makeClass('late', 'kubernetes.io/no-provisioner'));
    world.put(persistentVolumes, makeVolume('only'));
    world.put(persistentVolumeClaims, makeClaim('one'));
    world.put(persistentVolumeClaims, makeClaim('two'));
    const plugin = await make();
    const state = new CycleState();
    expect(ask(plugin, pod('one'), [a, b], state)).toEqual(['ok', 'ok']);
    expect(plugin.preBindPreFlight?.(state, pod('one'), 'b')?.code).toBe('Skip');
    expect(plugin.reserve(state, pod('one'), 'b')).toBeUndefined();
    expect(plugin.preBindPreFlight?.(state, pod('one'), 'b')).toBeUndefined();
    expect(ask(plugin, pod('two'), [a, b])).toEqual([NO_MATCH, NO_MATCH]);
    expect(ask(plugin, pod('one'), [a, b])).toEqual(['ok', 'ok']);
    plugin.unreserve(state, pod('one'), 'b');
    plugin.unreserve(state, pod('one'), 'b');
    expect(ask(plugin, pod('two'), [a, b])).toEqual(['ok', 'ok']);
  });

  test('sets the chosen node for a claim whose volume is provisioned', async () => {
    world.put(storageClasses, makeClass('late', 'csi'));
    world.put(persistentVolumeClaims, makeClaim('c'));
    const plugin = await make();
    const state = new CycleState();
    ask(plugin, pod('c'), [a, b], state);
    plugin.reserve(state, pod('c'), 'b');
    expect(ask(plugin, pod('c'), [a, b])).toEqual([NO_MATCH, 'ok']);
    // From then on the API server's version of the claim counts.
    world.put(persistentVolumeClaims, makeClaim('c', { annotations: { other: 'x' } }));
    await world.sync();
    expect(ask(plugin, pod('c'), [a, b])).toEqual(['ok', 'ok']);
  });

  test('does not reserve a volume that has changed since it was chosen', async () => {
    world.put(storageClasses, makeClass('late', 'csi'));
    world.put(persistentVolumeClaims, makeClaim('c'));
    const plugin = await make();
    const state = new CycleState();
    ask(plugin, pod('c'), [a], state);
    world.put(persistentVolumeClaims, makeClaim('c', { annotations: { other: 'x' } }));
    await world.sync();
    expect(plugin.reserve(state, pod('c'), 'a')?.code).toBe('Error');
  });
});

describe('Matches', () => {
  const node = makeNode('a');
  const names = (
    volumes: readonly PersistentVolume[],
    taken: readonly string[] = [],
  ): string | undefined =>
    new Matches(makeClaim('c', { storage: '2Gi' }), volumes).best(node, new Set(taken))?.metadata
      .name;
  const large = (name: string, more: VolumeOptions = {}): PersistentVolume =>
    makeVolume(name, { storage: '4Gi', ...more });

  test('takes the smallest suitable volume', () => {
    const volumes = [
      large('4'),
      makeVolume('1'),
      makeVolume('3', { storage: '3Gi' }),
      makeVolume('5', { storage: '5Gi' }),
    ];
    expect(names(volumes)).toBe('3');
    expect(names(volumes, ['3'])).toBe('4');
    expect(names(volumes, ['3', '4', '5'])).toBeUndefined();
    expect(names([large('anywhere'), makeVolume('here', { storage: '3Gi', host: 'a' })])).toBe(
      'here',
    );
    expect(names([large('anywhere'), makeVolume('here', { storage: '5Gi', host: 'a' })])).toBe(
      'anywhere',
    );
    expect(names([makeVolume('there', { storage: '3Gi', host: 'b' })])).toBeUndefined();
  });

  test.each<[string, VolumeOptions]>([
    ['of another class', { spec: { storageClassName: 'other' } }],
    ['of another mode', { spec: { volumeMode: 'Block' } }],
    ['with other attributes', { spec: { volumeAttributesClassName: 'gold' } }],
    ['without the access mode', { spec: { accessModes: ['ReadOnlyMany'] } }],
    ['that is not available', { phase: 'Released' }],
    ['of another claim', { spec: { claimRef: { namespace: 'default', name: 'd' } } }],
    [
      'of a former claim of that name',
      { spec: { claimRef: { namespace: 'default', name: 'c', uid: 'former' } } },
    ],
    ['only of other hosts', { spec: { nodeAffinity: { required: onHost('x', 'y') } } }],
  ])('takes none %s', (_what, options) => {
    expect(names([large('v', options)])).toBeUndefined();
  });

  test('takes the reserved volume, or none', () => {
    const claimRef = { namespace: 'default', name: 'c' };
    expect(
      names([
        makeVolume('s', { storage: '2Gi' }),
        large('meant', { phase: 'Pending', spec: { claimRef } }),
      ]),
    ).toBe('meant');
    const elsewhere = { claimRef, nodeAffinity: { required: onHost('b') } };
    expect(
      names([makeVolume('s', { storage: '2Gi' }), large('meant', { spec: elsewhere })]),
    ).toBeUndefined();
    // Too small, so it is ignored.
    expect(names([large('l'), makeVolume('meant', { spec: { claimRef } })])).toBe('l');
  });

  test('matches labels', () => {
    const claim = makeClaim('c', { spec: { selector: { matchLabels: { tier: 'gold' } } } });
    const volumes = [makeVolume('plain'), makeVolume('gold', { labels: { tier: 'gold' } })];
    expect(new Matches(claim, volumes).best(node, new Set())?.metadata.name).toBe('gold');
  });

  test('returns the same as a scan of all volumes', () => {
    const hosts = fc.option(fc.subarray(['a', 'b', 'c'], { minLength: 1 }), { nil: undefined });
    const volumes = fc.array(
      fc.record({ size: fc.integer({ min: 1, max: 6 }), hosts, free: fc.boolean() }),
      {
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(
        volumes,
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom('a', 'b', 'c'),
        (all, wanted, host) => {
          const made = all.map(({ size, hosts: on, free }, i) =>
            makeVolume(`v${i}`, {
              storage: `${size}Gi`,
              phase: free ? 'Available' : 'Bound',
              ...(on !== undefined && { spec: { nodeAffinity: { required: onHost(...on) } } }),
            }),
          );
          const fitting = all.filter(
            ({ size, hosts: on, free }) => free && size >= wanted && (on?.includes(host) ?? true),
          );
          const best = new Matches(makeClaim('c', { storage: `${wanted}Gi` }), made).best(
            makeNode(host),
            new Set(),
          );
          const sizes = fitting.map(({ size }) => size);
          expect(best?.spec.capacity?.storage).toBe(
            sizes.length === 0 ? undefined : `${Math.min(...sizes)}Gi`,
          );
          const found = best === undefined ? undefined : all[made.indexOf(best)];
          expect(found === undefined || fitting.includes(found)).toBe(true);
        },
      ),
    );
  });
});

describe('VolumeBinding is', () => {
  const wakes = (
    plugin: Plugin,
    resource: EventResource,
    action: number,
    before: unknown,
    after: unknown,
  ): boolean =>
    (plugin.eventsToRegister?.() ?? []).some(
      ({ event, hint }) =>
        matchesEvent(event, clusterEvent(resource, action, '')) &&
        (hint?.(pod('c').pod, { before, after }) ?? true),
    );

  test('woken by events that may provide volumes for its claims', async () => {
    const plugin = await make();
    const { Add } = ActionType;
    expect(wakes(plugin, 'PersistentVolumeClaim', UPDATE, makeClaim('c'), makeClaim('c'))).toBe(
      true,
    );
    expect(wakes(plugin, 'PersistentVolumeClaim', Add, undefined, makeClaim('d'))).toBe(false);
    expect(wakes(plugin, 'PersistentVolume', Add, undefined, makeVolume('v'))).toBe(true);
    expect(wakes(plugin, 'StorageClass', Add, undefined, makeClass('s', 'x'))).toBe(true);
    expect(wakes(plugin, 'StorageClass', UPDATE, makeClass('s', 'x'), makeClass('s', 'x'))).toBe(
      false,
    );
    const narrowed = makeClass('s', 'x', { allowedTopologies: [{}] });
    expect(wakes(plugin, 'StorageClass', UPDATE, narrowed, makeClass('s', 'x'))).toBe(true);
    const space = (capacity?: string) => ({ ...(capacity !== undefined && { capacity }) });
    expect(wakes(plugin, 'CSIStorageCapacity', Add, undefined, space('1Gi'))).toBe(true);
    expect(wakes(plugin, 'CSIStorageCapacity', UPDATE, space('1Gi'), space('2Gi'))).toBe(true);
    expect(wakes(plugin, 'CSIStorageCapacity', UPDATE, space(), space('0'))).toBe(true);
    expect(wakes(plugin, 'CSIStorageCapacity', UPDATE, space('2Gi'), space('1Gi'))).toBe(false);
    const asks = (storageCapacity: boolean) => ({ spec: { storageCapacity } });
    expect(wakes(plugin, 'CSIDriver', UPDATE, asks(true), asks(false))).toBe(true);
    expect(wakes(plugin, 'CSIDriver', UPDATE, asks(false), asks(true))).toBe(false);
  });

  test('configured', async () => {
    await expect(make({ bindTimeoutSeconds: 0 })).resolves.toBeDefined();
    await expect(make({ bindTimeoutSeconds: -1 })).rejects.toThrow(
      /invalid BindTimeoutSeconds, should not be a negative value/,
    );
    await expect(make({ shape: [] })).rejects.toThrow(
      /turn on the feature gate StorageCapacityScoring/,
    );
    await expect(make({ timeout: 3 })).rejects.toThrow(/unknown field/);
  });
});
