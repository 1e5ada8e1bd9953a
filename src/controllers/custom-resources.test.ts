// Controllers that work on all kinds, with custom resources: they discover new definitions at once,
// and a definition with a broken conversion webhook does not block other kinds
// (kubernetes/kubernetes issues 101078, 110720, 110936, 109603 and 96066).

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { configMaps, namespaces, resourceQuotas } from '#api/groups/core/v1/index.ts';
import { horizontalPodAutoscalers } from '#api/groups/autoscaling/v2/index.ts';
import { clusterRoles, roleBindings } from '#api/groups/rbac/v1/index.ts';
import { storageVersionMigrations } from '#api/groups/storagemigration/v1beta1/index.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { widgetType } from '#apiserver/testing/widgets.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { resourceOfKeys } from '#cluster/stores/encryption.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { aesGcmProvider, encryptedBy } from '#storage/encryption/testing/encrypted.ts';
import type { Storage } from '#storage/interface.ts';
import { ClusterRoleAggregationController } from './clusterrole-aggregation/index.ts';
import { GarbageCollector } from './garbage-collector/index.ts';
import { HorizontalPodAutoscalerController } from './horizontal-pod-autoscaler/index.ts';
import { NamespaceController } from './namespace/index.ts';
import { ResourceQuotaController } from './resourcequota/index.ts';
import { ScaleClient } from './scale-client.ts';
import { StorageVersionMigrator } from './storage-version-migrator/index.ts';
import { startTestCluster, type TestCluster } from './testing/test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster({
    runtimeConfig: { 'storagemigration.k8s.io/v1beta1': 'true' },
  });
});
afterEach(() => cluster.stop());

const WIDGETS = widgetType('v1');
const widgetsIn = (namespace: string) => cluster.client.resource(WIDGETS).namespace(namespace);
const configMapsIn = (namespace: string) =>
  cluster.client.resource(configMaps).namespace(namespace);
const exists = async (object: Promise<unknown>): Promise<boolean> => {
  try {
    await object;
    return true;
  } catch (error) {
    if (apierrors.isNotFound(error)) return false;
    throw error;
  }
};
const ownedBy = (
  apiVersion: string,
  kind: string,
  { name, uid }: { readonly name: string; readonly uid: string },
) => [{ apiVersion, kind, name, uid }];

/**
 * Resolves once the condition holds; checks it after every second of the virtual clock. Real
 * connections take real time, too.
 */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 120; attempt++) {
    if (await condition()) return;
    await cluster.clock.advance('1s');
  }
  throw new Error('it did not come about');
}

test('objects of a new definition are garbage-collected within a second', async () => {
  await cluster.run((config) => new GarbageCollector(config));
  await cluster.clock.advance('1s');
  await define(cluster.client, definitionOf());
  await cluster.clock.advance('1s');
  const owner = await widgetsIn('default').create({ metadata: { name: 'owner' } });
  const ownerReferences = ownedBy('example.com/v1', 'Widget', owner.metadata);
  await configMapsIn('default').create({ metadata: { name: 'dependent', ownerReferences } });
  await widgetsIn('default').create({ metadata: { name: 'dependent', ownerReferences } });
  await cluster.clock.advance('1s');
  await widgetsIn('default').delete('owner');
  await cluster.clock.advance('1s');
  expect(await exists(configMapsIn('default').get('dependent'))).toBe(false);
  expect(await exists(widgetsIn('default').get('dependent'))).toBe(false);
});

describe('with a definition whose conversion webhook is gone', () => {
  beforeEach(async () => {
    // No server listens at this URL. Controllers request v2, which is preferred; objects are stored
    // in v1.
    const clientConfig = { url: 'https://127.0.0.1:1/convert' };
    const conversion = {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig },
    };
    const versions = [definitionVersion('v1'), definitionVersion('v2', { storage: false })];
    await define(cluster.client, definitionOf(versions, { conversion }));
    await cluster.client.resource(namespaces).create({ metadata: { name: 'broken' } });
    await cluster.client.resource(namespaces).create({ metadata: { name: 'other' } });
    await widgetsIn('broken').create({ metadata: { name: 'w' } });
    await expect(
      cluster.client.resource(widgetType('v2')).namespace('broken').get('w'),
    ).rejects.toThrow('conversion webhook');
  });

  test('other objects are garbage-collected', async () => {
    await cluster.run((config) => new GarbageCollector(config));
    const owner = await configMapsIn('broken').create({ metadata: { name: 'owner' } });
    const ownerReferences = ownedBy('v1', 'ConfigMap', owner.metadata);
    await configMapsIn('broken').create({ metadata: { name: 'dependent', ownerReferences } });
    await configMapsIn('broken').delete('owner');
    await eventually(async () => !(await exists(configMapsIn('broken').get('dependent'))));
    // New definitions are discovered nevertheless.
    await define(
      cluster.client,
      definitionOf([definitionVersion()], { plural: 'gadgets', kind: 'Gadget' }),
    );
    const gadgets = cluster.client
      .resource(widgetType('v1', 'example.com', 'gadgets'))
      .namespace('other');
    const second = await gadgets.create({ metadata: { name: 'owner' } });
    const references = ownedBy('example.com/v1', 'Gadget', second.metadata);
    await gadgets.create({ metadata: { name: 'dependent', ownerReferences: references } });
    await gadgets.delete('owner');
    await eventually(async () => !(await exists(gadgets.get('dependent'))));
  });

  test('other namespaces, and other objects of its own namespace, are deleted', async () => {
    await cluster.run((config) => new NamespaceController(config));
    await configMapsIn('broken').create({ metadata: { name: 'a' } });
    await cluster.client.resource(namespaces).delete('other');
    await cluster.client.resource(namespaces).delete('broken');
    await eventually(async () => !(await exists(cluster.client.resource(namespaces).get('other'))));
    await eventually(async () => (await configMapsIn('broken').list()).items.length === 0);
    const { status } = await cluster.client.resource(namespaces).get('broken');
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'NamespaceDeletionContentFailure',
        status: 'True',
        reason: 'ContentDeletionFailed',
      }),
    );
  });

  test('quotas count other objects', async () => {
    await cluster.run((config) => new ResourceQuotaController(config));
    const quotas = cluster.client.resource(resourceQuotas).namespace('broken');
    const hard = { 'count/configmaps': '5', 'count/widgets.example.com': '5' };
    await quotas.create({ metadata: { name: 'q' }, spec: { hard } });
    await configMapsIn('broken').create({ metadata: { name: 'a' } });
    await eventually(async () => (await quotas.get('q')).status.used?.['count/configmaps'] === '1');
  });
});

test('a quota counts objects of a definition', async () => {
  await cluster.run((config) => new ResourceQuotaController(config));
  await define(cluster.client, definitionOf());
  await cluster.clock.advance('31s');
  const quotas = cluster.client.resource(resourceQuotas).namespace('default');
  await quotas.create({
    metadata: { name: 'q' },
    spec: { hard: { 'count/widgets.example.com': '1' } },
  });
  await cluster.clock.advance('5s');
  await widgetsIn('default').create({ metadata: { name: 'a' } });
  await expect(widgetsIn('default').create({ metadata: { name: 'b' } })).rejects.toThrow(
    'exceeded quota: q, requested: count/widgets.example.com=1, used: ' +
      'count/widgets.example.com=1, limited: count/widgets.example.com=1',
  );
});

test('stored objects are migrated to another storage version', async () => {
  const migrations = cluster.client.resource(storageVersionMigrations);
  await cluster.run((config) => new StorageVersionMigrator(config));
  const versions = (stored: string) =>
    ['v1', 'v2'].map((name) => definitionVersion(name, { storage: name === stored }));
  await define(cluster.client, definitionOf(versions('v1')));
  await widgetsIn('default').create({ metadata: { name: 'a' } });
  const storedIn = async (): Promise<unknown> => {
    const { items } = await cluster.storage.list('/registry/example.com/widgets/');
    return items.map(
      ({ value }) => /"apiVersion":"([^"]+)"/.exec(Buffer.from(value).toString('latin1'))?.[1],
    );
  };
  const definitions = cluster.client.resource(customResourceDefinitions);
  const spec = { versions: versions('v2') };
  await definitions.patch('widgets.example.com', 'application/merge-patch+json', { spec });
  expect(await storedIn()).toEqual(['example.com/v1']);
  await cluster.clock.advance('1s');
  await migrations.create({
    metadata: { name: 'm' },
    spec: { resource: { group: 'example.com', resource: 'widgets' } },
  });
  await eventually(async () =>
    ((await migrations.get('m')).status.conditions ?? []).some(({ type }) => type === 'Succeeded'),
  );
  expect(await storedIn()).toEqual(['example.com/v2']);
  expect(await exists(widgetsIn('default').get('a'))).toBe(true);
});

test('an object of a definition is scaled as soon as it can be', async () => {
  const client = new ScaleClient(cluster.client);
  const signal = new AbortController().signal;
  const kind = { group: 'example.com', kind: 'Widget' };
  await define(cluster.client, definitionOf());
  expect(await client.resourceOf(kind, signal)).toMatchObject({ scalable: false });
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  const versions = [definitionVersion('v1', { subresources: { scale } })];
  const definitions = cluster.client.resource(customResourceDefinitions);
  await definitions.patch('widgets.example.com', 'application/merge-patch+json', {
    spec: { versions },
  });
  await cluster.clock.advance('1s');
  await widgetsIn('default').create({ metadata: { name: 'a' }, spec: { replicas: 1 } } as never);
  const resource = await client.resourceOf(kind, signal);
  expect(resource.scalable).toBe(true);
  const before = await client.get(resource, 'default', 'a', signal);
  await client.update(resource, { ...before, spec: { replicas: 3 } }, signal);
  expect(await widgetsIn('default').get('a')).toMatchObject({
    spec: { replicas: 3 },
    metadata: { generation: 2 },
  });
});

test('an autoscaler scales objects of a definition', async () => {
  const scale = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  };
  await define(
    cluster.client,
    definitionOf([definitionVersion('v1', { subresources: { scale, status: {} } })]),
  );
  await widgetsIn('default').create({ metadata: { name: 'a' }, spec: { replicas: 1 } } as never);
  await widgetsIn('default').patch(
    'a',
    'application/merge-patch+json',
    { status: { replicas: 1, selector: 'app=a' } },
    { subresource: 'status' },
  );
  await cluster.run((config) => new HorizontalPodAutoscalerController(config));
  const autoscalers = cluster.client.resource(horizontalPodAutoscalers).namespace('default');
  const scaleTargetRef = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a' };
  await autoscalers.create({
    metadata: { name: 'a' },
    spec: { scaleTargetRef, minReplicas: 3, maxReplicas: 5 },
  });
  await eventually(async () => {
    const { spec } = (await widgetsIn('default').get('a')) as unknown as {
      readonly spec: { readonly replicas: number };
    };
    return spec.replicas === 3;
  });
  const { status } = await autoscalers.get('a');
  expect(status).toMatchObject({ currentReplicas: 1, desiredReplicas: 3 });
  expect(status.conditions).toContainEqual(
    expect.objectContaining({ type: 'AbleToScale', status: 'True', reason: 'SucceededRescale' }),
  );
});

test('a role that aggregates others gives access to objects of a definition', async () => {
  await define(cluster.client, definitionOf());
  await cluster.run((config) => new ClusterRoleAggregationController(config));
  const user = cluster.server.inProcess({ name: 'alice', groups: ['system:authenticated'] });
  const alice = createClient(createInProcessTransport({ handler: user }))
    .resource(WIDGETS)
    .namespace('default');
  await cluster.client
    .resource(roleBindings)
    .namespace('default')
    .create({
      metadata: { name: 'alice' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
      subjects: [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }],
    });
  await cluster.clock.advance('1s');
  await expect(alice.create({ metadata: { name: 'a' } })).rejects.toThrow(
    'widgets.example.com is forbidden: User "alice" cannot create',
  );
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' };
  const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['create', 'get'] }];
  await cluster.client
    .resource(clusterRoles)
    .create({ metadata: { name: 'widgets-edit', labels }, rules });
  await cluster.clock.advance('1s');
  expect(await alice.create({ metadata: { name: 'a' } })).toMatchObject({ kind: 'Widget' });
  await expect(alice.delete('a')).rejects.toThrow('cannot delete resource "widgets"');
  // Roles that aggregate `edit` have the rule, too.
  const admin = await cluster.client.resource(clusterRoles).get('admin');
  expect(admin.rules).toContainEqual(rules[0]);
});

test('objects are encrypted at rest', async () => {
  const widgets = { group: 'example.com', resource: 'widgets' };
  let below: Storage | undefined;
  const encrypted = await startTestCluster({
    wrapStorage: (storage) => {
      below = storage;
      return encryptedBy(storage, [aesGcmProvider()], widgets, resourceOfKeys([]));
    },
  });
  await define(encrypted.client, definitionOf());
  await encrypted.client
    .resource(WIDGETS)
    .namespace('default')
    .create({ metadata: { name: 'a' } });
  const { items } = await (below as Storage).list('/registry/example.com/widgets/');
  expect(
    items.map(({ value }) =>
      Buffer.from(value).toString('latin1').slice(0, 'k8s:enc:aesgcm:v1:a:'.length),
    ),
  ).toEqual(['k8s:enc:aesgcm:v1:a:']);
  expect(await exists(encrypted.client.resource(WIDGETS).namespace('default').get('a'))).toBe(true);
  await encrypted.stop();
});
