import { beforeEach, expect, test } from 'vitest';
import { serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import { serverPerTest } from '../testing/server-per-test.ts';
import { DefaultServiceCidr } from './default-service-cidr.ts';

const t = serverPerTest({ serviceCidr: '10.0.0.0/24' });
let reported: string[];
beforeEach(async () => {
  reported = [];
});

const range = () => t.client.resource(serviceCIDRs).get('kubernetes');
const keeperOf = (...cidrs: string[]): DefaultServiceCidr =>
  new DefaultServiceCidr({
    client: t.client,
    clock: t.clock,
    logger: t.logger,
    recorder: {
      event: (_subject, _type, reason, message) => reported.push(`${reason}: ${message}`),
    },
    cidrs,
  });

test('every cluster has one, and it is ready', async () => {
  const { spec, status } = await range();
  expect(spec.cidrs).toEqual(['10.0.0.0/24']);
  expect(status.conditions).toMatchObject([
    {
      type: 'Ready',
      status: 'True',
      reason: '',
      message: 'Kubernetes default Service CIDR is ready',
    },
  ]);
});

test('the next start writes it only if a family is new', async () => {
  const { resourceVersion } = (await range()).metadata;
  await keeperOf('10.0.0.0/24').sync();
  expect((await range()).metadata.resourceVersion).toBe(resourceVersion);
  await keeperOf('10.0.0.0/24', 'fd00::/112').sync();
  expect((await range()).spec.cidrs).toEqual(['10.0.0.0/24', 'fd00::/112']);
});

test('another range does not replace the existing one, and is reported once', async () => {
  const keeper = keeperOf('10.9.0.0/24');
  await keeper.sync();
  await keeper.sync();
  expect((await range()).spec.cidrs).toEqual(['10.0.0.0/24']);
  expect(reported).toEqual([
    'KubernetesDefaultServiceCIDRInconsistent: The default ServiceCIDR [10.0.0.0/24] does not ' +
      'match the controller flag configurations [10.9.0.0/24]',
  ]);
});

test('a condition of another writer stays', async () => {
  const current = await range();
  const condition = {
    type: 'Ready',
    status: 'False' as const,
    reason: 'Why',
    message: 'so',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await t.client
    .resource(serviceCIDRs)
    .updateStatus({ ...current, status: { conditions: [condition] } });
  const keeper = keeperOf('10.0.0.0/24');
  await keeper.sync();
  await keeper.sync();
  expect((await range()).status.conditions).toMatchObject([{ status: 'False' }]);
  expect(reported).toEqual(['Why: Configuration matches, but so']);
});

test('it is created again when it is deleted', async () => {
  const { uid } = (await range()).metadata;
  const watch = await t.client.resource(serviceCIDRs).watch({ resourceVersion: '0' });
  await t.client.resource(serviceCIDRs).delete('kubernetes');
  for await (const { type, object } of watch) {
    if (
      type !== 'DELETED' &&
      object.metadata.uid !== uid &&
      object.status.conditions?.[0]?.status === 'True'
    )
      break;
  }
  expect((await range()).spec.cidrs).toEqual(['10.0.0.0/24']);
});
