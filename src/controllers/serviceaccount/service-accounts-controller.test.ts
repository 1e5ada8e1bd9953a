import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { namespaces, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { ServiceAccountsController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const accounts = async () =>
  (await cluster.client.resource(serviceAccounts).list()).items
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    .sort();

describe('ServiceAccountsController', () => {
  test('maintains a default ServiceAccount in every namespace, also after its deletion', async () => {
    await cluster.run((config) => new ServiceAccountsController(config));
    const existing = (await cluster.client.resource(namespaces).list()).items.map(
      ({ metadata }) => metadata.name,
    );
    expect(existing).toContain('kube-system');
    expect(await accounts()).toEqual(existing.map((name) => `${name}/default`).sort());
    await cluster.client.resource(namespaces).create({ metadata: { name: 'x' } });
    await cluster.clock.settle();
    expect(await accounts()).toContain('x/default');
    await cluster.client.resource(serviceAccounts).namespace('x').delete('default');
    await cluster.clock.settle();
    expect(await accounts()).toContain('x/default');
  });

  test('creates none in a terminating namespace', async () => {
    await cluster.client.resource(namespaces).create({ metadata: { name: 'x' } });
    await cluster.client.resource(namespaces).delete('x');
    await cluster.run(
      (config) => new ServiceAccountsController({ ...config, serviceAccounts: ['one', 'two'] }),
    );
    expect(await accounts()).not.toContain('x/one');
    expect(await accounts()).toEqual(expect.arrayContaining(['default/one', 'default/two']));
    expect(cluster.logger.records.filter(({ level }) => level !== 'debug')).toEqual([]);
  });
});
