import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import {
  type ConfigMap,
  configMaps,
  events,
  namespaces,
  nodes,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ReplicaManager, replicaSetKind } from '../replicaset/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { GarbageCollector } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const maps = (namespace = 'default') => cluster.client.resource(configMaps).namespace(namespace);
const startCollector = () => cluster.run((config) => new GarbageCollector(config));

function ownedBy(owner: Immutable<ConfigMap>, block = false): OwnerReference {
  const { name, uid } = owner.metadata;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name,
    uid,
    ...(block && { blockOwnerDeletion: true }),
  };
}
const make = async (name: string, owners: OwnerReference[] = [], finalizers: string[] = []) =>
  maps().create({ metadata: { name, ownerReferences: owners, finalizers } });
const names = async () => (await maps().list()).items.map(({ metadata }) => metadata.name).sort();
const settle = () => cluster.clock.advance('1s');
const GHOST = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'ghost',
  uid: '00000000-0000-4000-8000-000000000000',
};

describe('GarbageCollector', () => {
  test('background deletion deletes dependents and their dependents', async () => {
    await startCollector();
    const a = await make('a');
    const b = await make('b', [ownedBy(a)]);
    await make('c', [ownedBy(b)]);
    await make('other');
    await settle();
    expect(await names()).toEqual(['a', 'b', 'c', 'other']);
    await maps().delete('a', { propagationPolicy: 'Background' });
    await settle();
    expect(await names()).toEqual(['other']);
  });

  test('turns the pods of a deleted ReplicaSet to Terminating at once', async () => {
    await startCollector();
    await cluster.run((config) => new ReplicaManager({ ...config, kind: replicaSetKind }));
    await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
    await cluster.client.resource(replicaSets).create({
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
        },
      },
    });
    await cluster.clock.settle();
    const before = cluster.clock.now();
    await cluster.client
      .resource(replicaSets)
      .namespace('default')
      .delete('web', { propagationPolicy: 'Background' });
    await cluster.clock.settle();
    const { items } = await cluster.client.resource(pods).namespace('default').list();
    expect(items.map(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([
      true,
      true,
      true,
    ]);
    expect(cluster.clock.now()).toBe(before);
  });

  test('keeps an object with another owner, and removes the reference to the deleted one', async () => {
    await startCollector();
    const [a, b] = [await make('a'), await make('b')];
    await make('shared', [ownedBy(a), ownedBy(b)]);
    await maps().delete('a');
    await settle();
    expect((await maps().get('shared')).metadata.ownerReferences).toEqual([ownedBy(b)]);
    await maps().delete('b');
    await settle();
    expect(await names()).toEqual([]);
  });

  test('foreground deletion deletes dependents first; only blocking ones delay the owner', async () => {
    await startCollector();
    const a = await make('a');
    await make('blocks', [ownedBy(a, true)], ['example.com/wait']);
    await make('lax', [ownedBy(a)], ['example.com/wait']);
    await make('free', [ownedBy(a, true)]);
    await settle();
    await maps().delete('a', { propagationPolicy: 'Foreground' });
    await settle();
    expect(await names()).toEqual(['a', 'blocks', 'lax']);
    expect((await maps().get('a')).metadata.finalizers).toEqual(['foregroundDeletion']);
    await maps().patch('blocks', 'application/merge-patch+json', {
      metadata: { finalizers: null },
    });
    await settle();
    expect(await names()).toEqual(['lax']);
    expect((await maps().get('lax')).metadata.deletionTimestamp).toBeDefined();
  });

  test('foreground deletion works through several levels', async () => {
    await startCollector();
    const a = await make('a');
    const b = await make('b', [ownedBy(a, true)]);
    await make('c', [ownedBy(b, true)], ['example.com/wait']);
    await settle();
    await maps().delete('a', { propagationPolicy: 'Foreground' });
    await settle();
    expect(await names()).toEqual(['a', 'b', 'c']);
    await maps().patch('c', 'application/merge-patch+json', { metadata: { finalizers: null } });
    await settle();
    expect(await names()).toEqual([]);
  });

  test('resolves a cycle of owners that wait for each other', async () => {
    await startCollector();
    const a = await make('a');
    const b = await make('b', [ownedBy(a, true)]);
    await maps().patch('a', 'application/merge-patch+json', {
      metadata: { ownerReferences: [ownedBy(b, true)] },
    });
    await settle();
    await maps().delete('a', { propagationPolicy: 'Foreground' });
    await cluster.clock.advance('10s');
    expect(await names()).toEqual([]);
  });

  test('orphans dependents when asked to', async () => {
    await startCollector();
    const a = await make('a');
    const b = await make('b');
    await make('child', [ownedBy(a), ownedBy(b)]);
    await make('only', [ownedBy(a)]);
    await settle();
    await maps().delete('a', { propagationPolicy: 'Orphan' });
    await settle();
    expect(await names()).toEqual(['b', 'child', 'only']);
    expect((await maps().get('child')).metadata.ownerReferences).toEqual([ownedBy(b)]);
    expect((await maps().get('only')).metadata.ownerReferences).toBeUndefined();
  });

  test('deletes dependents whose owner never existed, or whose owner’s name another object has', async () => {
    await startCollector();
    const a = await make('a');
    await make('wrong-name', [GHOST]);
    await make('wrong-uid', [{ ...ownedBy(a), uid: GHOST.uid }]);
    await settle();
    expect(await names()).toEqual(['a']);
  });

  test('reads owners live: an owner that the watches have not shown yet is not missing', async () => {
    await startCollector();
    cluster.faults.hold('/api/v1/nodes');
    const node = await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
    await make('child', [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: node.metadata.uid }]);
    await settle();
    expect(await names()).toEqual(['child']);
    cluster.faults.release('/api/v1/nodes');
    await settle();
    await cluster.client.resource(nodes).delete('n1');
    await settle();
    expect(await names()).toEqual([]);
  });

  test('treats an owner in another namespace as absent, and records why', async () => {
    await startCollector();
    await cluster.client.resource(namespaces).create({ metadata: { name: 'x' } });
    const far = await maps('x').create({ metadata: { name: 'far' } });
    await settle();
    const { uid } = (await make('child', [ownedBy(far)])).metadata;
    await settle();
    expect(await names()).toEqual([]);
    const { items } = await cluster.client.resource(events).namespace('default').list();
    expect(
      items.map(({ reason, type, message, involvedObject }) => ({
        reason,
        type,
        message,
        uid: involvedObject.uid,
      })),
    ).toEqual([
      {
        reason: 'OwnerRefInvalidNamespace',
        type: 'Warning',
        message:
          `ownerRef [v1/ConfigMap, namespace: default, name: far, uid: ${far.metadata.uid}] ` +
          'does not exist in namespace "default"',
        uid,
      },
    ]);
    expect((await maps('x').get('far')).metadata.uid).toBe(far.metadata.uid);
  });

  test('leaves alone dependents whose owner’s kind is not served or cannot be an owner', async () => {
    await startCollector();
    await make('strange', [{ ...GHOST, apiVersion: 'example.com/v1', kind: 'Strange' }]);
    const a = await make('a');
    await cluster.client
      .resource(nodes)
      .create({ metadata: { name: 'n1', ownerReferences: [ownedBy(a)] } });
    await cluster.client
      .resource(nodes)
      .create({ metadata: { name: 'n2', ownerReferences: [GHOST] } });
    await cluster.clock.advance('1m');
    expect(await names()).toEqual(['a', 'strange']);
    expect((await cluster.client.resource(nodes).list()).items.length).toBe(2);
  });

  test('keeps an object that got another owner during its reconcile', async () => {
    await startCollector();
    const [a, b] = [await make('a'), await make('b')];
    await make('child', [ownedBy(a)]);
    await settle();
    cluster.faults.fail('DELETE', /child$/, () =>
      apierrors.conflict({ group: '', resource: 'configmaps' }, 'child', 'it has changed'),
    );
    await maps().delete('a');
    await cluster.clock.settle();
    expect(await names()).toEqual(['b', 'child']);
    await maps().patch('child', 'application/merge-patch+json', {
      metadata: { ownerReferences: [ownedBy(b)] },
    });
    await settle();
    expect(await names()).toEqual(['b', 'child']);
  });

  test('finds objects after a restart whose owner was deleted meanwhile', async () => {
    const stop = await startCollector();
    const a = await make('a');
    await make('child', [ownedBy(a)]);
    const b = await make('b');
    await make('blocks', [ownedBy(b, true)]);
    await make('c', [], []);
    await make('left', [ownedBy(await maps().get('c'))]);
    await settle();
    await stop();
    await maps().delete('a');
    await maps().delete('b', { propagationPolicy: 'Foreground' });
    await maps().delete('c', { propagationPolicy: 'Orphan' });
    await settle();
    expect(await names()).toEqual(['b', 'blocks', 'c', 'child', 'left']);
    await startCollector();
    await settle();
    expect(await names()).toEqual(['left']);
  });

  test('retries failures', async () => {
    await startCollector();
    const a = await make('a');
    await make('child', [ownedBy(a)]);
    await settle();
    cluster.faults.fail('DELETE', /child$/, () => apierrors.internalError('no'), { times: 3 });
    await maps().delete('a');
    await settle();
    expect(await names()).toEqual([]);
  });
});
