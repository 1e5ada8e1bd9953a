// API services of the server's own groups, through the server.

import type { ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import { expect, test, vi } from 'vitest';

import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { widgetKind, widgetType } from '#apiserver/testing/widgets.ts';
import { requestsOf } from '#apiserver/testing/workloads.ts';

const t = serverPerTest();
const services = () => requestsOf(t, '/apis/apiregistration.k8s.io/v1/apiservices');
const prioritiesOf = async (name: string): Promise<unknown[]> => {
  const { spec } = (await services().get(name)).object;
  return [spec['groupPriorityMinimum'], spec['versionPriority']];
};

test.each([
  ['v1.', 18_000, 1],
  ['v1.apps', 17_800, 15],
  ['v1.events.k8s.io', 17_750, 15],
  ['v1.authentication.k8s.io', 17_700, 15],
  ['v1.authorization.k8s.io', 17_600, 15],
  ['v1.autoscaling', 17_500, 15],
  ['v2.autoscaling', 17_500, 30],
  ['v1.batch', 17_400, 15],
  ['v1.certificates.k8s.io', 17_300, 15],
  ['v1.networking.k8s.io', 17_200, 15],
  ['v1.policy', 17_100, 15],
  ['v1.rbac.authorization.k8s.io', 17_000, 15],
  ['v1.storage.k8s.io', 16_800, 15],
  ['v1.admissionregistration.k8s.io', 16_700, 15],
  ['v1.scheduling.k8s.io', 16_600, 15],
  ['v1.coordination.k8s.io', 16_500, 15],
  ['v1.node.k8s.io', 16_300, 15],
  ['v1.discovery.k8s.io', 16_200, 15],
  ['v1.flowcontrol.apiserver.k8s.io', 16_100, 21],
])('%s has its place', async (name, group, version) => {
  expect(await prioritiesOf(name)).toEqual([group, version]);
});

test('API services are reconciled at the next start, unless a user has taken them over', async () => {
  expect((await services().patch('v1.apps', { spec: { versionPriority: 3 } })).code).toBe(200);
  const label = { 'kube-aggregator.kubernetes.io/automanaged': null };
  expect(
    (
      await services().patch('v1.batch', {
        metadata: { labels: label },
        spec: { versionPriority: 3 },
      })
    ).code,
  ).toBe(200);
  const { resourceVersion } = (await services().get('v1.policy')).object.metadata;
  await services().delete('v1.autoscaling');
  await t.server.start();
  expect(await prioritiesOf('v1.apps')).toEqual([17_800, 15]);
  expect(await prioritiesOf('v1.batch')).toEqual([17_400, 3]);
  expect(await prioritiesOf('v1.autoscaling')).toEqual([17_500, 15]);
  expect((await services().get('v1.policy')).object.metadata.resourceVersion).toBe(resourceVersion);
});

test('custom group versions have API services while they are served', async () => {
  const name = 'v1.w.example.com';
  const has = (code: number): Promise<void> =>
    vi.waitFor(async () => expect((await services().get(name)).code).toBe(code), {
      timeout: 60_000,
    });
  const installed = t.server.catalog.install([widgetKind(t, widgetType('v1', 'w.example.com'))]);
  await has(200);
  const { object } = await services().get(name);
  expect(object.metadata.labels).toEqual({ 'kube-aggregator.kubernetes.io/automanaged': 'true' });
  expect(object.spec).toEqual({
    group: 'w.example.com',
    version: 'v1',
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  });
  expect(object.status['conditions']).toMatchObject([
    { type: 'Available', status: 'True', reason: 'Local' },
  ]);
  const { uid } = object.metadata;
  await services().delete(name);
  await vi.waitFor(
    async () => expect((await services().get(name)).object.metadata.uid).not.toBe(uid),
    { timeout: 60_000 },
  );
  await has(200);
  installed.uninstall();
  await has(404);
});

test('a status does not change labels, annotations and finalizers', async () => {
  const { metadata } = (await services().get('v1.apps')).object;
  const changed = await services().patch('v1.apps/status', {
    metadata: { labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['example.com/a'] },
    status: { conditions: [{ type: 'A', status: 'True' }] },
  });
  expect(changed.object.status['conditions']).toMatchObject([{ type: 'A' }]);
  expect(changed.object.metadata.labels).toEqual(metadata.labels);
  expect(changed.object.metadata.annotations).toEqual(metadata.annotations);
  expect(changed.object.metadata.finalizers).toBeUndefined();
  const { managedFields = [] } = changed.object.metadata as ObjectMeta;
  const managers = managedFields.filter(({ subresource }) => subresource === 'status');
  // No manager owns a field that is wiped.
  expect(managers.map(({ fieldsV1 }) => Object.keys(fieldsV1 ?? {}))).toEqual([['f:status']]);
});
