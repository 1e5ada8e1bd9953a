import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { services } from '#api/groups/core/v1/index.ts';
import { ipAddresses, type ServiceCIDR, serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { canGo } from './ranges.ts';
import { SERVICE_CIDR_FINALIZER, ServiceCidrController } from './service-cidr-controller.ts';

const make = (config: ConstructorParameters<typeof ServiceCidrController>[0]) =>
  new ServiceCidrController(config);
const add = (cluster: TestCluster, name: string, ...cidrs: string[]) =>
  cluster.client.resource(serviceCIDRs).create({ metadata: { name }, spec: { cidrs } });
const serve = (cluster: TestCluster, name: string, clusterIP: string) =>
  cluster.client
    .resource(services)
    .namespace('default')
    .create({ metadata: { name }, spec: { ports: [{ port: 80 }], clusterIP } });
const remove = (cluster: TestCluster, name: string) =>
  cluster.client.resource(serviceCIDRs).delete(name);

describe('a range', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run(make);
  });
  afterEach(() => cluster.stop());

  const find = (name: string): Promise<Immutable<ServiceCIDR> | undefined> =>
    cluster.client
      .resource(serviceCIDRs)
      .get(name)
      .catch((error: unknown) => {
        if (!apierrors.isNotFound(error)) throw error;
        return undefined;
      });
  const ready = async (name: string): Promise<string> => {
    const condition = (await find(name))?.status.conditions?.find(({ type }) => type === 'Ready');
    return `${condition?.status} ${condition?.reason} ${condition?.message}`;
  };
  const IN_USE =
    'False Terminating There are still IPAddresses referencing the ServiceCIDR, please ' +
    'remove them or create a new ServiceCIDR';

  test('gets the finalizer and becomes ready; the default range, too', async () => {
    await add(cluster, 'more', '10.0.0.0/24');
    await cluster.clock.settle();
    for (const name of ['more', 'kubernetes']) {
      expect((await find(name))?.metadata.finalizers).toEqual([SERVICE_CIDR_FINALIZER]);
      expect(await ready(name)).toBe('True  Kubernetes Service CIDR is ready');
    }
    const { managedFields } = (await find('more'))?.metadata ?? {};
    expect(
      managedFields?.map(({ manager, operation, subresource }) => [
        manager,
        operation,
        subresource,
      ]),
    ).toContainEqual(['service-cidr-controller', 'Apply', 'status']);
    const before = (await find('more'))?.metadata.resourceVersion;
    await cluster.clock.advance('1h');
    expect((await find('more'))?.metadata.resourceVersion).toBe(before);
  });

  test('without addresses in use is deleted after the grace period for the API servers', async () => {
    await add(cluster, 'more', '10.0.0.0/24');
    await cluster.clock.settle();
    await remove(cluster, 'more');
    await cluster.clock.advance('9s');
    expect((await find('more'))?.metadata.finalizers).toEqual([SERVICE_CIDR_FINALIZER]);
    await cluster.clock.advance('2s');
    expect(await find('more')).toBeUndefined();
  });

  test('stays while a service has one of its addresses', async () => {
    await add(cluster, 'more', '10.0.0.0/24', 'fd00::/120');
    await cluster.clock.settle();
    await serve(cluster, 'web', '10.0.0.9');
    await remove(cluster, 'more');
    await cluster.clock.advance('1m');
    expect(await ready('more')).toBe(IN_USE);
    await cluster.client.resource(services).namespace('default').delete('web');
    await cluster.clock.settle();
    expect(await find('more')).toBeUndefined();
  });

  test('is deleted once others contain its ranges, or its addresses in use', async () => {
    await add(cluster, 'more', '10.0.0.0/24');
    await serve(cluster, 'web', '10.0.0.9');
    await cluster.clock.settle();
    await remove(cluster, 'more');
    await cluster.clock.advance('1m');
    expect(await ready('more')).toBe(IN_USE);
    await add(cluster, 'part', '10.0.0.0/28');
    await cluster.clock.advance('1m');
    expect(await find('more')).toBeUndefined();
    await add(cluster, 'larger', '10.0.0.0/16');
    await cluster.clock.settle();
    await remove(cluster, 'part');
    await cluster.clock.advance('11s');
    expect(await find('part')).toBeUndefined();
  });

  test('is not kept by addresses of other kinds', async () => {
    await add(cluster, 'more', '10.0.0.0/24');
    const spec = { parentRef: { group: 'example.org', resource: 'gateways', name: 'mine' } };
    await cluster.client.resource(ipAddresses).create({ metadata: { name: '10.0.0.9' }, spec });
    await cluster.clock.settle();
    await remove(cluster, 'more');
    await cluster.clock.advance('11s');
    expect(await find('more')).toBeUndefined();
  });
});

describe('may be deleted', () => {
  const range = (...cidrs: string[]): ServiceCIDR =>
    ({ metadata: { name: cidrs.join() }, spec: { cidrs }, status: {} }) as ServiceCIDR;
  test.each([
    ['nothing in use', range('10.0.0.0/24'), [], ['10.0.1.1'], true],
    ['an address in use', range('10.0.0.0/24'), [], ['10.0.0.1'], false],
    [
      'the first and the last address, which no service gets',
      range('10.0.0.0/24'),
      [],
      ['10.0.0.0', '10.0.0.255'],
      true,
    ],
    ['the same range', range('10.0.0.0/24'), [range('10.0.0.0/24')], ['10.0.0.1'], true],
    ['a larger one', range('10.0.0.0/24'), [range('10.0.0.0/8')], ['10.0.0.1'], true],
    [
      'a smaller one with the address',
      range('10.0.0.0/24'),
      [range('10.0.0.0/28')],
      ['10.0.0.1'],
      true,
    ],
    [
      'a smaller one without it',
      range('10.0.0.0/24'),
      [range('10.0.0.0/28')],
      ['10.0.0.1', '10.0.0.77'],
      false,
    ],
    [
      'one family covered',
      range('10.0.0.0/24', 'fd00::/120'),
      [range('10.0.0.0/8')],
      ['fd00::1'],
      false,
    ],
    [
      'both covered',
      range('10.0.0.0/24', 'fd00::/120'),
      [range('10.0.0.0/8'), range('fd00::/64')],
      ['fd00::1', '10.0.0.1'],
      true,
    ],
    ['what is no address', range('10.0.0.0/24'), [], ['x'], true],
  ])('%s', (_, object, others, addresses, expected) => {
    expect(canGo(object, others, addresses)).toBe(expected);
  });
});

test('after every fault', async () => {
  const { outcome, disturbed, writes } = await disturb({
    subject: make,
    outcome: [serviceCIDRs],
    steps: [
      (cluster) => add(cluster, 'one', '10.0.0.0/24').then(() => undefined),
      (cluster) => add(cluster, 'two', '10.0.1.0/24').then(() => undefined),
      async (cluster) => {
        await serve(cluster, 'web', '10.0.0.9');
        await remove(cluster, 'one');
        await remove(cluster, 'two');
      },
      (cluster) =>
        cluster.client
          .resource(services)
          .namespace('default')
          .delete('web')
          .then(() => undefined),
      (cluster) => add(cluster, 'three', '10.0.2.0/24').then(() => undefined),
    ],
  });
  expect(outcome).toHaveLength(2);
  expect(writes).toBeGreaterThan(8);
  for (const [what, result] of disturbed) expect(result, what).toEqual(outcome);
});
