import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { RootCaPublisher } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const maps = (namespace = 'default') => cluster.client.resource(configMaps).namespace(namespace);
const NAME = 'kube-root-ca.crt';

describe('RootCaPublisher', () => {
  test('publishes the CA in every namespace, and reverts changes', async () => {
    await cluster.run((config) => new RootCaPublisher({ ...config, rootCa: 'PEM' }));
    const published = await maps().get(NAME);
    expect(published.data).toEqual({ 'ca.crt': 'PEM' });
    expect(published.metadata.annotations?.['kubernetes.io/description']).toMatch(
      /^Contains a CA bundle /,
    );
    await cluster.client.resource(namespaces).create({ metadata: { name: 'x' } });
    await cluster.clock.settle();
    expect((await maps('x').get(NAME)).data).toEqual({ 'ca.crt': 'PEM' });
    await maps().patch(NAME, 'application/merge-patch+json', {
      data: { 'ca.crt': 'other', more: '1' },
      metadata: { labels: { kept: '1' } },
    });
    await cluster.clock.settle();
    expect(await maps().get(NAME)).toMatchObject({
      data: { 'ca.crt': 'PEM' },
      metadata: { labels: { kept: '1' } },
    });
    expect((await maps().get(NAME)).data).toEqual({ 'ca.crt': 'PEM' });
    await maps().delete(NAME);
    await cluster.clock.settle();
    expect((await maps().get(NAME)).data).toEqual({ 'ca.crt': 'PEM' });
  });

  test('publishes a new CA after a restart', async () => {
    const stop = await cluster.run((config) => new RootCaPublisher({ ...config, rootCa: 'old' }));
    const { resourceVersion } = (await maps().get(NAME)).metadata;
    await stop();
    const again = await cluster.run((config) => new RootCaPublisher({ ...config, rootCa: 'old' }));
    expect((await maps().get(NAME)).metadata.resourceVersion).toBe(resourceVersion);
    await again();
    await cluster.run((config) => new RootCaPublisher({ ...config, rootCa: 'new' }));
    expect((await maps().get(NAME)).data).toEqual({ 'ca.crt': 'new' });
  });
});
