import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  configMaps,
  type Namespace,
  namespaces,
  pods,
  secrets,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { NamespaceController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.addNamespace('x');
});
afterEach(() => cluster.stop());

const start = () => cluster.run((config) => new NamespaceController(config));
const read = async (): Promise<Immutable<Namespace> | undefined> => {
  try {
    return await cluster.client.resource(namespaces).get('x');
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
};
const maps = (namespace = 'x') => cluster.client.resource(configMaps).namespace(namespace);
const inX = () => cluster.client.resource(pods).namespace('x');
const runPod = (nodeName?: string) =>
  inX().create({
    metadata: { name: 'p' },
    spec: { nodeName, terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] },
  });
const remove = () => cluster.client.resource(namespaces).delete('x');
const conditions = async () =>
  Object.fromEntries(
    ((await read())?.status.conditions ?? []).map(({ type, status, reason, message }) => [
      type,
      `${status} ${reason}: ${message}`,
    ]),
  );

describe('NamespaceController', () => {
  test('empties a namespace and finalizes it at once, and leaves other namespaces alone', async () => {
    await start();
    await maps().create({ metadata: { name: 'a' } });
    await cluster.client
      .resource(secrets)
      .namespace('x')
      .create({ metadata: { name: 's' } });
    await runPod();
    await maps('default').create({ metadata: { name: 'a' } });
    await cluster.clock.settle();
    expect((await read())?.status.phase).toBe('Active');
    await remove();
    await cluster.clock.settle();
    expect(await read()).toBeUndefined();
    expect((await maps('default').list()).items.length).toBe(1);
    expect(
      (await cluster.client.resource(configMaps).list()).items.every(
        ({ metadata }) => metadata.namespace !== 'x',
      ),
    ).toBe(true);
  });

  test('waits for pods before it deletes other objects, and continues when the last pod is gone', async () => {
    await start();
    await maps().create({ metadata: { name: 'a' } });
    await runPod('n1');
    await cluster.clock.settle();
    await remove();
    await cluster.clock.settle();
    expect((await inX().get('p')).metadata.deletionTimestamp).toBeDefined();
    expect((await maps().list()).items.length).toBe(1);
    expect(await conditions()).toEqual({
      NamespaceDeletionDiscoveryFailure:
        'False ResourcesDiscovered: All resources successfully discovered',
      NamespaceDeletionGroupVersionParsingFailure:
        'False ParsedGroupVersions: All legacy kube types successfully parsed',
      NamespaceDeletionContentFailure:
        'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
      NamespaceContentRemaining:
        'True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances',
      NamespaceFinalizersRemaining:
        'False ContentHasNoFinalizers: All content-preserving finalizers finished',
    });
    const before = cluster.clock.now();
    await inX().delete('p', { gracePeriodSeconds: 0 });
    await cluster.clock.settle();
    expect(await read()).toBeUndefined();
    expect(cluster.clock.now()).toBe(before);
  });

  test('reports remaining finalizers, and checks again without an event', async () => {
    await start();
    await maps().create({
      metadata: { name: 'a', finalizers: ['example.com/one', 'example.com/two'] },
    });
    await maps().create({ metadata: { name: 'b', finalizers: ['example.com/one'] } });
    await remove();
    await cluster.clock.settle();
    expect(await conditions()).toMatchObject({
      NamespaceContentRemaining:
        'True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances',
      NamespaceFinalizersRemaining:
        'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: ' +
        'example.com/one in 2 resource instances, example.com/two in 1 resource instances',
    });
    for (const name of ['a', 'b'])
      await maps().patch(name, 'application/merge-patch+json', { metadata: { finalizers: null } });
    await cluster.clock.advance('10s');
    expect(await read()).toBeUndefined();
  });

  test('reports failed deletions and retries', async () => {
    await start();
    await maps().create({ metadata: { name: 'a' } });
    cluster.faults.fail('DELETE', /configmaps$/, () => apierrors.internalError('disk on fire'), {
      times: 2,
    });
    await remove();
    await cluster.clock.settle();
    expect((await conditions())['NamespaceDeletionContentFailure']).toBe(
      'True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: ' +
        'Internal error occurred: disk on fire',
    );
    await cluster.clock.advance('5s');
    expect(await read()).toBeUndefined();
  });

  test('does not finish while a group cannot be discovered', async () => {
    await start();
    cluster.faults.fail('GET', /^\/apis\/apps\/v1$/, () => apierrors.serviceUnavailable('away'), {
      times: 3,
    });
    await remove();
    await cluster.clock.settle();
    expect((await conditions())['NamespaceDeletionDiscoveryFailure']).toBe(
      'True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve ' +
        'the complete list of server APIs: apps/v1: away',
    );
    await cluster.clock.advance('5s');
    expect(await read()).toBeUndefined();
  });

  test('keeps finalizers of other owners in the spec', async () => {
    await start();
    const namespace = (await read()) as Immutable<Namespace>;
    const spec = { finalizers: ['kubernetes', 'example.com/mine'] };
    await cluster.client
      .resource(namespaces)
      .subresource('x', 'finalize', { ...namespace, spec }, { method: 'PUT' });
    await remove();
    await cluster.clock.settle();
    expect((await read())?.spec.finalizers).toEqual(['example.com/mine']);
  });

  test('continues after a restart', async () => {
    await maps().create({ metadata: { name: 'a' } });
    await remove();
    await start();
    await cluster.clock.settle();
    expect(await read()).toBeUndefined();
  });
});
