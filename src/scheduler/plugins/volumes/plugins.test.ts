// VolumeRestrictions, NodeVolumeLimits and VolumeZone: rejected nodes, messages, and events that
// requeue a pod.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  persistentVolumeClaims,
  persistentVolumes,
  type Volume,
} from '#api/groups/core/v1/index.ts';
import {
  type CSINode,
  csiNodes,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import { CycleState } from '#scheduler/framework/cycle-state.ts';
import {
  ActionType,
  assignedPodDelete,
  type ClusterEvent,
  clusterEvent,
  type EventObjects,
  type EventResource,
  matchesEvent,
  nodeAdd,
  UPDATE,
} from '#scheduler/framework/events.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import type { FilterPlugin, Plugin, PreFilterPlugin } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { makeHandle, snapshotOf } from '#scheduler/testing/handle.ts';
import { TestInformers } from '#scheduler/testing/informers.ts';
import { makeNodeInfo, makePod, makePodInfo } from '#scheduler/testing/objects.ts';
import { makeClaim, makeClass, makeVolume, mounting } from '#scheduler/testing/volumes.ts';
import { inTreeRegistry } from '../registry.ts';

type VolumePlugin = Plugin & PreFilterPlugin & FilterPlugin;

let world: TestInformers;
beforeEach(() => {
  world = new TestInformers();
});
afterEach(() => {
  world.stop();
});

/** Creates the plugin with the objects that were added so far. */
async function make(name: string, nodes: readonly NodeInfo[] = []): Promise<VolumePlugin> {
  const handle = makeHandle({
    informers: world.informers,
    snapshot: snapshotOf(nodes),
    ended: world.ended,
  });
  const plugin = inTreeRegistry.get(name)?.create({ value: undefined, path: 'args' }, handle);
  await world.sync();
  return plugin as VolumePlugin;
}

/** Returns 'skip', PreFilter's result, or Filter's result for each node. */
function ask(
  plugin: VolumePlugin,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): string | readonly string[] {
  const state = new CycleState();
  const text = (status: Status): string => `${status.code}: ${status.message}`;
  const pre = plugin.preFilter(state, pod, nodes);
  if (pre instanceof Status) return pre.code === 'Skip' ? 'skip' : text(pre);
  return nodes.map((node) => {
    const status = plugin.filter(state, pod, node);
    return status === undefined ? 'ok' : text(status);
  });
}

function wakes(plugin: Plugin, pod: Pod, event: ClusterEvent, objects: EventObjects): boolean {
  return (plugin.eventsToRegister?.() ?? []).some(
    (registration) =>
      matchesEvent(registration.event, event) && (registration.hint?.(pod, objects) ?? true),
  );
}
const added = (resource: EventResource): ClusterEvent =>
  clusterEvent(resource, ActionType.Add, 'add');
const updated = (resource: EventResource): ClusterEvent => clusterEvent(resource, UPDATE, 'update');
const deleted = (resource: EventResource): ClusterEvent =>
  clusterEvent(resource, ActionType.Delete, 'delete');

const withVolumes = (name: string, ...volumes: Volume[]): PodInfo =>
  makePodInfo(name, { spec: { volumes } });
const withClaims = (name: string, ...claims: string[]): PodInfo =>
  makePodInfo(name, { spec: mounting(...claims) });

describe('VolumeRestrictions', () => {
  const gce = (readOnly?: boolean): Volume => ({
    name: 'v',
    gcePersistentDisk: { pdName: 'disk', ...(readOnly === true && { readOnly }) },
  });
  const aws: Volume = { name: 'v', awsElasticBlockStore: { volumeID: 'vol', readOnly: true } };
  const iscsi = (iqn: string, readOnly?: boolean): Volume => ({
    name: 'v',
    iscsi: { targetPortal: 'p', iqn, lun: 0, ...(readOnly === true && { readOnly }) },
  });
  const rbd = (monitors: string[], pool: string, readOnly?: boolean): Volume => ({
    name: 'v',
    rbd: { monitors, pool, image: 'i', ...(readOnly === true && { readOnly }) },
  });

  test.each<[string, Volume, Volume, boolean]>([
    ['GCE disk, written', gce(), gce(true), true],
    ['GCE disk, read by both', gce(true), gce(true), false],
    ['EBS volume, read by both', aws, aws, true],
    ['iSCSI target, written', iscsi('a'), iscsi('a', true), true],
    ['iSCSI target, read by both', iscsi('a', true), iscsi('a', true), false],
    ['other iSCSI target', iscsi('a'), iscsi('b'), false],
    ['RBD image behind a common monitor', rbd(['a', 'b'], 'p'), rbd(['b', 'c'], 'p'), true],
    ['RBD image, read by both', rbd(['a'], 'p', true), rbd(['a'], 'p', true), false],
    ['RBD image of another pool', rbd(['a'], 'p'), rbd(['a'], 'q'), false],
    ['RBD image behind other monitors', rbd(['a'], 'p'), rbd(['b'], 'p'), false],
    ['disks of two kinds', gce(), aws, false],
  ])('%s', async (_what, wanted, present, conflict) => {
    const used = makeNodeInfo('used', {}, [withVolumes('there', present)]);
    const free = makeNodeInfo('free');
    const plugin = await make('VolumeRestrictions', [used, free]);
    expect(ask(plugin, withVolumes('p', wanted), [used, free])).toEqual([
      conflict ? 'Unschedulable: node(s) had no available disk' : 'ok',
      'ok',
    ]);
    const gone = withVolumes('there', present).pod;
    expect(wakes(plugin, withVolumes('p', wanted).pod, assignedPodDelete, { before: gone })).toBe(
      conflict,
    );
  });

  test('allows one pod in the cluster for a claim with ReadWriteOncePod', async () => {
    world.put(
      persistentVolumeClaims,
      makeClaim('one', { spec: { accessModes: ['ReadWriteOncePod'] } }),
    );
    world.put(persistentVolumeClaims, makeClaim('many'));
    const user = withClaims('user', 'one', 'many');
    const [used, free] = [makeNodeInfo('used', {}, [user]), makeNodeInfo('free')];
    const plugin = await make('VolumeRestrictions', [used, free]);
    const refused =
      'Unschedulable: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod ' +
      'access mode already in-use by another pod';
    expect(ask(plugin, withClaims('p', 'one'), [used, free])).toEqual([refused, refused]);
    expect(ask(plugin, withClaims('p', 'many'), [used, free])).toBe('skip');
    expect(ask(plugin, withClaims('p'), [used, free])).toBe('skip');
    // Claims of another namespace are different ones.
    const elsewhere = makePodInfo('p', { namespace: 'other', spec: mounting('one') });
    expect(ask(plugin, elsewhere, [used])).toBe(
      'UnschedulableAndUnresolvable: persistentvolumeclaim "one" not found',
    );
    expect(
      wakes(plugin, elsewhere.pod, added('PersistentVolumeClaim'), {
        after: makeClaim('one', { namespace: 'other' }),
      }),
    ).toBe(true);
    expect(
      wakes(plugin, elsewhere.pod, added('PersistentVolumeClaim'), { after: makeClaim('one') }),
    ).toBe(false);
    expect(wakes(plugin, withClaims('p', 'one').pod, assignedPodDelete, { before: user.pod })).toBe(
      true,
    );
    expect(wakes(plugin, elsewhere.pod, assignedPodDelete, { before: user.pod })).toBe(false);
    expect(wakes(plugin, elsewhere.pod, nodeAdd, {})).toBe(true);
  });

  test('evaluates the removal of the claim’s user', async () => {
    world.put(
      persistentVolumeClaims,
      makeClaim('one', { spec: { accessModes: ['ReadWriteOncePod'] } }),
    );
    const user = withClaims('user', 'one');
    const node = makeNodeInfo('n', {}, [user]);
    const plugin = await make('VolumeRestrictions', [node]);
    const state = new CycleState();
    const pod = withClaims('p', 'one');
    plugin.preFilter(state, pod, [node]);
    const tried = state.clone();
    const without = node.clone();
    without.removePod(user.uid);
    plugin.removePod?.(tried, pod, user, without);
    expect(plugin.filter(tried, pod, without)).toBeUndefined();
    plugin.addPod?.(tried, pod, user, node);
    expect(plugin.filter(tried, pod, node)?.code).toBe('Unschedulable');
    expect(plugin.filter(state, pod, node)?.code).toBe('Unschedulable');
  });
});

describe('NodeVolumeLimits', () => {
  const csiNode = (
    name: string,
    counts: Readonly<Record<string, number | undefined>>,
  ): CSINode => ({
    metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      drivers: Object.entries(counts).map(([driver, count]) => ({
        name: driver,
        nodeID: name,
        topologyKeys: null,
        ...(count !== undefined && { allocatable: { count } }),
      })),
    },
  });
  const csiVolume = (name: string, driver = 'ebs') =>
    makeVolume(name, { phase: 'Bound', spec: { csi: { driver, volumeHandle: name } } });
  const attachment = (name: string, volume: string, node: string): VolumeAttachment => ({
    metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { attacher: 'ebs', nodeName: node, source: { persistentVolumeName: volume } },
    status: { attached: true },
  });
  const FULL = 'Unschedulable: node(s) exceed max volume count';

  function bound(...names: string[]): void {
    for (const name of names) {
      world.put(persistentVolumes, csiVolume(name));
      world.put(persistentVolumeClaims, makeClaim(name, { volume: name }));
    }
  }

  test('counts the volumes of a driver once each, up to the node’s limit', async () => {
    bound('a', 'b', 'c');
    world.put(persistentVolumes, makeVolume('local', { phase: 'Bound' }));
    world.put(persistentVolumeClaims, makeClaim('local', { volume: 'local' }));
    world.put(csiNodes, csiNode('two', { ebs: 2, other: 0 }));
    world.put(csiNodes, csiNode('any', { ebs: undefined }));
    const there = [withClaims('x', 'a'), withClaims('y', 'a', 'b')];
    const nodes = [
      makeNodeInfo('two', {}, there),
      makeNodeInfo('any', {}, there),
      makeNodeInfo('unknown', {}, there),
    ];
    const plugin = await make('NodeVolumeLimits', nodes);
    expect(ask(plugin, withClaims('p', 'c'), nodes)).toEqual([FULL, 'ok', 'ok']);
    // The volume is attached already.
    expect(ask(plugin, withClaims('p', 'a', 'b'), nodes)).toEqual(['ok', 'ok', 'ok']);
    expect(ask(plugin, withClaims('p', 'local'), nodes)).toBe('skip');
    expect(ask(plugin, makePodInfo('p'), nodes)).toBe('skip');
    expect(ask(plugin, withClaims('p', 'nope'), nodes)).toEqual(
      nodes.map(
        () =>
          'UnschedulableAndUnresolvable: looking up PVC default/nope: persistentvolumeclaim "nope" not found',
      ),
    );
  });

  test('counts volumes that will be provisioned, by their class', async () => {
    world.put(storageClasses, makeClass('late', 'ebs'));
    world.put(persistentVolumeClaims, makeClaim('new'));
    world.put(persistentVolumeClaims, makeClaim('newer'));
    world.put(persistentVolumeClaims, makeClaim('classless', { spec: { storageClassName: '' } }));
    world.put(csiNodes, csiNode('n', { ebs: 1 }));
    const node = makeNodeInfo('n', {}, [withClaims('x', 'new')]);
    const plugin = await make('NodeVolumeLimits', [node]);
    expect(ask(plugin, withClaims('p', 'newer'), [node])).toEqual([FULL]);
    expect(ask(plugin, withClaims('p', 'new'), [node])).toEqual(['ok']);
    expect(ask(plugin, withClaims('p', 'classless'), [node])).toBe('skip');
  });

  test('counts volumes that are still attached for deleted pods, once', async () => {
    bound('a', 'b', 'c');
    world.put(csiNodes, csiNode('n', { ebs: 2 }));
    world.put(volumeAttachments, attachment('1', 'a', 'n'));
    world.put(volumeAttachments, attachment('2', 'b', 'n'));
    const node = makeNodeInfo('n', {}, [withClaims('x', 'a')]);
    const plugin = await make('NodeVolumeLimits', [node]);
    expect(ask(plugin, withClaims('p', 'c'), [node])).toEqual([FULL]);
    const pod = withClaims('p', 'c').pod;
    expect(
      wakes(plugin, pod, deleted('VolumeAttachment'), { before: attachment('2', 'b', 'n') }),
    ).toBe(true);
    const foreign = {
      ...attachment('3', 'z', 'n'),
      spec: { ...attachment('3', 'z', 'n').spec, attacher: 'nfs' },
    };
    expect(wakes(plugin, pod, deleted('VolumeAttachment'), { before: foreign })).toBe(false);
  });

  test('counts in-tree volumes for the drivers that have replaced their plugins', async () => {
    const driver = 'ebs.csi.aws.com';
    const ebs = (volumeID: string) => ({ awsElasticBlockStore: { volumeID } });
    world.put(persistentVolumes, makeVolume('a', { phase: 'Bound', spec: ebs('aws://z/vol-a') }));
    world.put(persistentVolumeClaims, makeClaim('a', { volume: 'a' }));
    world.put(persistentVolumes, makeVolume('f', { spec: { vsphereVolume: { volumePath: 'p' } } }));
    world.put(persistentVolumeClaims, makeClaim('f', { volume: 'f' }));
    world.put(storageClasses, makeClass('late', 'kubernetes.io/aws-ebs'));
    world.put(persistentVolumeClaims, makeClaim('new'));
    world.put(csiNodes, csiNode('one', { [driver]: 1 }));
    world.put(csiNodes, csiNode('two', { [driver]: 2 }));
    const inline = (name: string, ...disks: object[]) =>
      makePodInfo(name, {
        spec: { volumes: disks.map((disk, i) => ({ name: `v${i}`, ...disk })) as Volume[] },
      });
    const there = [inline('x', ebs('vol-x'))];
    const nodes = [
      makeNodeInfo('one', {}, there),
      makeNodeInfo('two', {}, there),
      makeNodeInfo('unknown', {}, there),
    ];
    const plugin = await make('NodeVolumeLimits', nodes);
    for (const pod of [withClaims('p', 'a'), withClaims('p', 'new'), inline('p', ebs('vol-y'))]) {
      expect(ask(plugin, pod, nodes)).toEqual([FULL, 'ok', 'ok']);
    }
    // The same disk.
    expect(ask(plugin, inline('p', ebs('aws:///vol-x')), nodes)).toEqual(['ok', 'ok', 'ok']);
    expect(ask(plugin, inline('p', { vsphereVolume: { volumePath: 'p' } }), nodes)).toBe('skip');
    expect(ask(plugin, withClaims('p', 'f'), nodes)).toBe('skip');
    const shared = { azureDisk: { diskName: 'd', diskURI: 'u', kind: 'Shared' } };
    expect(ask(plugin, inline('p', shared), nodes)).toEqual(
      nodes.map(
        () =>
          'Error: converting volume(v0) from inline to csi: kind(Shared) is not supported in csi migration',
      ),
    );
    const { pod } = inline('p', ebs('vol-y'));
    expect(wakes(plugin, pod, assignedPodDelete, { before: inline('x', ebs('vol-x')).pod })).toBe(
      true,
    );
    const gone = attachment('1', 'v', 'one');
    expect(wakes(plugin, pod, deleted('VolumeAttachment'), { before: gone })).toBe(false);
    const itsOwn = { ...gone, spec: { ...gone.spec, attacher: driver } };
    expect(wakes(plugin, pod, deleted('VolumeAttachment'), { before: itsOwn })).toBe(true);
  });

  test('is woken by free room', async () => {
    const plugin = await make('NodeVolumeLimits');
    const { pod } = withClaims('p', 'c');
    const update = (before: CSINode, after: CSINode) =>
      wakes(plugin, pod, updated('CSINode'), { before, after });
    expect(wakes(plugin, pod, added('CSINode'), { after: csiNode('n', {}) })).toBe(true);
    expect(update(csiNode('n', { ebs: 1 }), csiNode('n', { ebs: 2 }))).toBe(true);
    expect(update(csiNode('n', { ebs: 1 }), csiNode('n', {}))).toBe(true);
    expect(update(csiNode('n', { ebs: 2 }), csiNode('n', { ebs: 1 }))).toBe(false);
    expect(wakes(plugin, pod, assignedPodDelete, { before: withClaims('x', 'a').pod })).toBe(true);
    expect(wakes(plugin, pod, assignedPodDelete, { before: makePod('x') })).toBe(false);
    expect(wakes(plugin, pod, added('PersistentVolumeClaim'), { after: makeClaim('c') })).toBe(
      true,
    );
    expect(wakes(plugin, pod, added('PersistentVolumeClaim'), { after: makeClaim('d') })).toBe(
      false,
    );
  });
});

describe('VolumeZone', () => {
  const ZONE = 'topology.kubernetes.io/zone';
  const OLD_ZONE = 'failure-domain.beta.kubernetes.io/zone';
  const nodes = [
    makeNodeInfo('a', { labels: { [ZONE]: 'a' } }),
    makeNodeInfo('b', { labels: { [ZONE]: 'b' } }),
    makeNodeInfo('nowhere'),
  ];
  const CONFLICT = 'UnschedulableAndUnresolvable: node(s) had no available volume zone';

  test.each<[string, Readonly<Record<string, string>>, string | readonly string[]]>([
    ['one zone', { [ZONE]: 'a' }, ['ok', CONFLICT, 'ok']],
    ['several zones', { [ZONE]: 'b__c' }, [CONFLICT, 'ok', 'ok']],
    ['a former name of the label', { [OLD_ZONE]: 'a' }, ['ok', CONFLICT, 'ok']],
    [
      'a region that no node is in',
      { 'topology.kubernetes.io/region': 'r' },
      [CONFLICT, CONFLICT, 'ok'],
    ],
    ['a label that cannot be read', { [ZONE]: 'a__' }, 'skip'],
    ['no label', {}, 'skip'],
  ])('%s', async (_what, labels, expected) => {
    world.put(persistentVolumes, makeVolume('v', { labels, phase: 'Bound' }));
    world.put(persistentVolumeClaims, makeClaim('c', { volume: 'v' }));
    const plugin = await make('VolumeZone', nodes);
    expect(ask(plugin, withClaims('p', 'c'), nodes)).toEqual(expected);
  });

  test('reports missing objects', async () => {
    world.put(storageClasses, makeClass('late', 'x'));
    world.put(storageClasses, makeClass('now', 'x', { volumeBindingMode: 'Immediate' }));
    world.put(persistentVolumeClaims, makeClaim('waits'));
    world.put(persistentVolumeClaims, makeClaim('soon', { spec: { storageClassName: 'now' } }));
    world.put(persistentVolumeClaims, makeClaim('classless', { spec: { storageClassName: '' } }));
    world.put(persistentVolumeClaims, makeClaim('lost', { volume: 'gone' }));
    world.put(persistentVolumeClaims, makeClaim('wrong', { spec: { storageClassName: 'nope' } }));
    const plugin = await make('VolumeZone', nodes);
    const why = (claim: string) => ask(plugin, withClaims('p', claim), nodes);
    const refused = (message: string): string => `UnschedulableAndUnresolvable: ${message}`;
    expect(why('waits')).toBe('skip');
    expect(why('soon')).toBe(refused('PersistentVolume had no name'));
    expect(why('classless')).toBe(
      refused('PersistentVolumeClaim had no pv name and storageClass name'),
    );
    expect(why('lost')).toBe(refused('persistentvolume "gone" not found'));
    expect(why('wrong')).toBe(refused('storageclass.storage.k8s.io "nope" not found'));
    expect(why('nope')).toBe(refused('persistentvolumeclaim "nope" not found'));
  });

  test('is woken by events that may make a volume usable on a node', async () => {
    const plugin = await make('VolumeZone');
    const { pod } = withClaims('p', 'c');
    const volume = (zone: string, storage?: string) =>
      makeVolume('v', { labels: { [ZONE]: zone }, ...(storage && { storage }) });
    const volumeUpdate = (before: unknown, after: unknown) =>
      wakes(plugin, pod, updated('PersistentVolume'), { before, after });
    expect(volumeUpdate(volume('a'), volume('b'))).toBe(true);
    expect(volumeUpdate(volume('a'), volume('a', '2Gi'))).toBe(false);
    expect(wakes(plugin, pod, added('PersistentVolume'), { after: volume('a') })).toBe(true);
    expect(
      wakes(plugin, pod, updated('PersistentVolumeClaim'), {
        before: makeClaim('c'),
        after: makeClaim('c'),
      }),
    ).toBe(true);
    expect(
      wakes(plugin, pod, updated('PersistentVolumeClaim'), {
        before: makeClaim('d'),
        after: makeClaim('d'),
      }),
    ).toBe(false);
    expect(wakes(plugin, pod, added('StorageClass'), { after: makeClass('late', 'x') })).toBe(true);
    const immediate = makeClass('now', 'x', { volumeBindingMode: 'Immediate' });
    expect(wakes(plugin, pod, added('StorageClass'), { after: immediate })).toBe(false);
    expect(wakes(plugin, pod, clusterEvent('Node', ActionType.UpdateNodeLabel, 'label'), {})).toBe(
      true,
    );
    expect(wakes(plugin, pod, clusterEvent('Node', ActionType.UpdateNodeTaint, 'taint'), {})).toBe(
      false,
    );
  });
});
