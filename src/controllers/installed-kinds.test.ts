// Controllers that work on all kinds discover a kind that is installed at run time, without a
// restart.

import { afterEach, beforeEach, expect, test } from 'vitest';

import { configMaps, namespaces, resourceQuotas } from '#api/groups/core/v1/index.ts';
import type { Installation } from '#apiserver/catalog/catalog.ts';
import { widgetKind, widgetType } from '#apiserver/testing/widgets.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { GarbageCollector } from './garbage-collector/index.ts';
import { NamespaceController } from './namespace/index.ts';
import { ResourceQuotaController } from './resourcequota/index.ts';
import { startTestCluster, type TestCluster } from './testing/test-cluster.ts';

const TYPE = widgetType();
/** Longer than the time between two discoveries. */
const DISCOVERED = '35s';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

async function install(): Promise<Installation> {
  const installation = cluster.server.catalog.install([widgetKind(cluster, TYPE)]);
  await cluster.clock.advance(DISCOVERED);
  return installation;
}
const widgetsIn = (namespace: string) => cluster.client.resource(TYPE).namespace(namespace);
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

test('its objects are garbage-collected with their owners, and are owners', async () => {
  await cluster.run((config) => new GarbageCollector(config));
  await install();
  const owner = await configMapsIn('default').create({ metadata: { name: 'owner' } });
  const widget = await widgetsIn('default').create({
    metadata: { name: 'w', ownerReferences: ownedBy('v1', 'ConfigMap', owner.metadata) },
  });
  await configMapsIn('default').create({
    metadata: {
      name: 'dependent',
      ownerReferences: ownedBy('example.com/v1', 'Widget', widget.metadata),
    },
  });
  await cluster.clock.advance('5s');
  expect(await exists(widgetsIn('default').get('w'))).toBe(true);
  await configMapsIn('default').delete('owner');
  await cluster.clock.advance('5s');
  expect(await exists(widgetsIn('default').get('w'))).toBe(false);
  expect(await exists(configMapsIn('default').get('dependent'))).toBe(false);
});

test('its objects are deleted with their namespace', async () => {
  await cluster.run((config) => new NamespaceController(config));
  await install();
  await cluster.addNamespace('gone');
  await widgetsIn('gone').create({ metadata: { name: 'w' } });
  await widgetsIn('default').create({ metadata: { name: 'w' } });
  await cluster.client.resource(namespaces).delete('gone');
  await cluster.clock.advance('5s');
  expect(await exists(cluster.client.resource(namespaces).get('gone'))).toBe(false);
  expect(
    (await cluster.client.resource(TYPE).list()).items.map(({ metadata }) => metadata.namespace),
  ).toEqual(['default']);
});

test('its objects are counted by quotas, also by those that are older than the kind', async () => {
  await cluster.run((config) => new ResourceQuotaController(config));
  const quotas = cluster.client.resource(resourceQuotas).namespace('default');
  await quotas.create({
    metadata: { name: 'q' },
    spec: { hard: { 'count/widgets.example.com': '2', configmaps: '5' } },
  });
  const used = async () => (await quotas.get('q')).status.used;
  await cluster.clock.advance('1s');
  expect(await used()).toEqual({ configmaps: '0' });
  const installation = await install();
  expect(await used()).toEqual({ 'count/widgets.example.com': '0', configmaps: '0' });
  for (const name of ['a', 'b']) await widgetsIn('default').create({ metadata: { name } });
  await expect(widgetsIn('default').create({ metadata: { name: 'c' } })).rejects.toThrow(
    'exceeded quota',
  );
  await widgetsIn('default').delete('a');
  await cluster.clock.advance('5s');
  expect(await used()).toEqual({ 'count/widgets.example.com': '1', configmaps: '0' });

  // A kind that cannot be counted does not keep the controller from counting the others.
  installation.uninstall();
  await configMapsIn('default').create({ metadata: { name: 'c' } });
  await configMapsIn('default').delete('c');
  await cluster.clock.advance('5m');
  expect(await used()).toMatchObject({ configmaps: '0' });
  await install();
  await widgetsIn('default').delete('b');
  await cluster.clock.advance('2m');
  expect(await used()).toEqual({ 'count/widgets.example.com': '0', configmaps: '0' });
});
