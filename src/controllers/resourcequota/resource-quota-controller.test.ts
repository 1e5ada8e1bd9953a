import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import {
  configMaps,
  persistentVolumeClaims,
  pods,
  resourceQuotas,
  services,
} from '#api/groups/core/v1/index.ts';
import { deviceClasses, resourceClaims } from '#api/groups/resource/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { ResourceQuotaController } from './index.ts';

const spec = {
  containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '250m', memory: '64Mi' } } }],
};
const pod = (name: string, more = {}) => ({
  metadata: { name, namespace: 'default' },
  spec: { ...spec, ...more },
});

describe('the quota controller', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new ResourceQuotaController(config));
  });
  afterEach(() => cluster.stop());

  const client = () => cluster.client.resource(resourceQuotas).namespace('default');
  const podClient = () => cluster.client.resource(pods).namespace('default');
  const status = async () => (await client().get('q')).status;
  const limit = async (hard: Record<string, string>, more = {}) => {
    await client().create({ metadata: { name: 'q' }, spec: { hard, ...more } });
    await cluster.clock.settle();
  };

  test('counts existing objects', async () => {
    await podClient().create(pod('one'));
    await cluster.client
      .resource(configMaps)
      .namespace('default')
      .create({ metadata: { name: 'cm' } });
    const ports = [{ name: 'a', port: 1 }];
    await cluster.client
      .resource(services)
      .namespace('default')
      .create({ metadata: { name: 's' }, spec: { type: 'NodePort', ports } });
    await cluster.client
      .resource(persistentVolumeClaims)
      .namespace('default')
      .create({
        metadata: { name: 'claim' },
        spec: {
          storageClassName: 'fast',
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '5Gi' } },
        },
      });
    const hard = {
      configmaps: '10',
      'count/deployments.apps': '1',
      cpu: '2',
      'fast.storageclass.storage.k8s.io/requests.storage': '10Gi',
      pods: '5',
      'requests.memory': '1Gi',
      'requests.storage': '20Gi',
      services: '3',
      'services.nodeports': '2',
    };
    await limit(hard);
    expect(await status()).toEqual({
      hard,
      used: {
        configmaps: '1',
        'count/deployments.apps': '0',
        cpu: '250m',
        'fast.storageclass.storage.k8s.io/requests.storage': '5Gi',
        pods: '1',
        'requests.memory': '64Mi',
        'requests.storage': '5Gi',
        // The service `kubernetes` counts, too.
        services: '2',
        'services.nodeports': '1',
      },
    });
  });

  test('counts devices by class: the maximum of alternatives, and the maximum of a claim for `all`', async () => {
    const claims = cluster.client.resource(resourceClaims).namespace('default');
    const exactly = (deviceClassName: string, more: object = {}) => ({
      exactly: { deviceClassName, ...more },
    });
    const alternative = (name: string, deviceClassName: string, count: number) => ({
      name,
      deviceClassName,
      count,
    });
    const requests = [
      { name: 'a', ...exactly('gpu', { count: 2 }) },
      {
        name: 'b',
        firstAvailable: [
          alternative('x', 'gpu', 3),
          alternative('y', 'gpu', 1),
          alternative('z', 'nic', 4),
        ],
      },
      { name: 'c', ...exactly('disk', { allocationMode: 'All' }) },
    ];
    await claims.create({ metadata: { name: 'c' }, spec: { devices: { requests } } });
    const ofClass = (name: string): string => `${name}.deviceclass.resource.k8s.io/devices`;
    const hard = {
      'count/resourceclaims.resource.k8s.io': '5',
      [ofClass('disk')]: '40',
      [ofClass('gpu')]: '5',
      [ofClass('nic')]: '9',
      [ofClass('none')]: '1',
    };
    await limit(hard);
    const used = {
      'count/resourceclaims.resource.k8s.io': '1',
      [ofClass('disk')]: '32',
      [ofClass('gpu')]: '5',
      [ofClass('nic')]: '4',
      [ofClass('none')]: '0',
    };
    expect((await status()).used).toEqual(used);
    const one = { devices: { requests: [{ name: 'a', ...exactly('gpu') }] } };
    await expect(claims.create({ metadata: { name: 'd' }, spec: one })).rejects.toThrow(
      `exceeded quota: q, requested: ${ofClass('gpu')}=1, used: ${ofClass('gpu')}=5, limited: ${ofClass('gpu')}=5`,
    );
    await claims.delete('c');
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual(
      Object.fromEntries(Object.keys(hard).map((name) => [name, '0'])),
    );
  });

  test('counts devices as extended resources, once for a pod and the claim made for it', async () => {
    const classes = cluster.client.resource(deviceClasses);
    const claims = cluster.client.resource(resourceClaims).namespace('default');
    const implicit = 'requests.deviceclass.resource.kubernetes.io/gpu';
    const explicit = 'requests.example.com/gpu';
    await limit({ [explicit]: '5', [implicit]: '5' });
    const requests = (count: number) => [
      {
        name: 'a',
        exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount' as const, count },
      },
    ];
    await claims.create({
      metadata: { name: 'made-by-hand' },
      spec: { devices: { requests: requests(1) } },
    });
    await cluster.clock.advance('2s');
    // No class is known, so the limits apply to pods only.
    expect((await status()).used).toEqual({ [explicit]: '0', [implicit]: '0' });
    await classes.create({
      metadata: { name: 'gpu' },
      spec: { extendedResourceName: 'example.com/gpu' },
    });
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual({ [explicit]: '1', [implicit]: '1' });
    const amounts = { 'example.com/gpu': '1', 'deviceclass.resource.kubernetes.io/gpu': '1' };
    const resources = { requests: amounts, limits: amounts };
    const { metadata } = await podClient().create(
      pod('one', { containers: [{ name: 'c', image: 'i', resources }] }),
    );
    await claims.create({
      metadata: {
        name: 'of-pod',
        annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: 'one', uid: metadata.uid, controller: true },
        ],
      },
      spec: { devices: { requests: requests(3) } },
    });
    // One by hand, one of the pod, and the two of its claim that the pod does not count.
    const used = { [explicit]: '4', [implicit]: '4' };
    expect((await status()).used).toEqual(used);
    await cluster.clock.advance('5m');
    expect((await status()).used).toEqual(used);
    await expect(
      claims.create({ metadata: { name: 'x' }, spec: { devices: { requests: requests(2) } } }),
    ).rejects.toThrow(
      `exceeded quota: q, requested: ${implicit}=2,${explicit}=2, ` +
        `used: ${implicit}=4,${explicit}=4, limited: ${implicit}=5,${explicit}=5`,
    );
    await podClient().delete('one', { gracePeriodSeconds: 0 });
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual(used);
    await claims.delete('of-pod');
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual({ [explicit]: '1', [implicit]: '1' });
    // Without the name, the explicit limit is on pods only.
    await classes.patch('gpu', 'application/merge-patch+json', {
      spec: { extendedResourceName: null },
    });
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual({ [explicit]: '0', [implicit]: '1' });
  });

  test('counts the server’s own objects', async () => {
    await limit({ 'count/deployments.apps': '3', 'count/widgets.example.com': '1' });
    expect((await status()).used).toEqual({ 'count/deployments.apps': '0' });
  });

  test('releases what deleted and ended objects used', async () => {
    await limit({ pods: '2', 'count/pods': '5', cpu: '1' });
    await podClient().create(pod('one'));
    await podClient().create(pod('two'));
    await cluster.clock.settle();
    expect((await status()).used).toEqual({ 'count/pods': '2', cpu: '500m', pods: '2' });
    await podClient().patch(
      'one',
      'application/merge-patch+json',
      { status: { phase: 'Succeeded' } },
      { subresource: 'status' },
    );
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual({ 'count/pods': '2', cpu: '250m', pods: '1' });
    await podClient().delete('two', { gracePeriodSeconds: 0 });
    await cluster.clock.advance('2s');
    expect((await status()).used).toEqual({ 'count/pods': '1', cpu: '0', pods: '0' });
  });

  test('follows changes of limits', async () => {
    await podClient().create(pod('one'));
    await limit({ pods: '2' });
    await client().patch('q', 'application/merge-patch+json', {
      spec: { hard: { pods: '1', memory: '1Gi' } },
    });
    await cluster.clock.settle();
    expect(await status()).toEqual({
      hard: { memory: '1Gi', pods: '1' },
      used: { memory: '64Mi', pods: '1' },
    });
  });

  test('counts only objects in its scopes', async () => {
    await podClient().create(pod('one'));
    await podClient().create(pod('two', { activeDeadlineSeconds: 60 }));
    await limit({ pods: '5' }, { scopes: ['Terminating'] });
    expect((await status()).used).toEqual({ pods: '1' });
  });

  test('counts again when an object moves to another scope', async () => {
    const quotas = cluster.client.resource(resourceQuotas).namespace('default');
    const usedOf = async (name: string) => (await quotas.get(name)).status.used;
    const create = (name: string, spec: object) => quotas.create({ metadata: { name }, spec });
    await create('running', { hard: { pods: '5' }, scopes: ['NotTerminating'] });
    await create('terminating', {
      hard: { pods: '5' },
      scopeSelector: { matchExpressions: [{ scopeName: 'Terminating', operator: 'Exists' }] },
    });
    const gold = { scopeName: 'VolumeAttributesClass', operator: 'In', values: ['gold'] };
    await create('gold', {
      hard: { persistentvolumeclaims: '5' },
      scopeSelector: { matchExpressions: [gold] },
    });
    await podClient().create(pod('one'));
    const claims = cluster.client.resource(persistentVolumeClaims).namespace('default');
    await claims.create({
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await cluster.clock.advance('10s');
    expect(await Promise.all(['running', 'terminating', 'gold'].map(usedOf))).toEqual([
      { pods: '1' },
      { pods: '0' },
      { persistentvolumeclaims: '0' },
    ]);
    await podClient().patch('one', 'application/merge-patch+json', {
      spec: { activeDeadlineSeconds: 60 },
    });
    const status = { currentVolumeAttributesClassName: 'gold' };
    await claims.patch('c', 'application/merge-patch+json', { status }, { subresource: 'status' });
    await cluster.clock.advance('10s');
    expect(await Promise.all(['running', 'terminating', 'gold'].map(usedOf))).toEqual([
      { pods: '0' },
      { pods: '1' },
      { persistentvolumeclaims: '1' },
    ]);
  });

  test('releases what was charged but never created', async () => {
    await limit({ 'count/deployments.apps': '3' });
    const labels = { app: 'd' };
    const deployment = {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    };
    const create = () =>
      cluster.client.resource(deployments).namespace('default').create(deployment);
    await create();
    await client().patch(
      'q',
      'application/merge-patch+json',
      { status: { used: { 'count/deployments.apps': '2' } } },
      { subresource: 'status' },
    );
    await cluster.clock.advance('5m');
    expect((await status()).used).toEqual({ 'count/deployments.apps': '1' });
  });
});

test('reach the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config) => new ResourceQuotaController(config),
    steps: [
      async ({ client }) => {
        await client.resource(pods).create(pod('one'));
        await client.resource(resourceQuotas).create({
          metadata: { name: 'q', namespace: 'default' },
          spec: { hard: { pods: '5', cpu: '2', configmaps: '9' } },
        });
      },
      async ({ client }) => {
        await client.resource(pods).create(pod('two'));
        await client
          .resource(configMaps)
          .create({ metadata: { name: 'cm', namespace: 'default' } });
      },
      async ({ client }) =>
        void (await client
          .resource(pods)
          .namespace('default')
          .delete('one', { gracePeriodSeconds: 0 })),
    ],
    outcome: [resourceQuotas],
  });
  expect(outcome).toMatchObject([
    { status: { used: { pods: '1', cpu: '250m', configmaps: '1' } } },
  ]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});

describe('discovery', () => {
  const hard = { 'count/deployments.apps': '3', pods: '1' };

  test('is awaited, and retried', async () => {
    const cluster = await startTestCluster();
    const quotas = cluster.client.resource(resourceQuotas).namespace('default');
    cluster.faults.fail('GET', /^\/apis$/, () => apierrors.serviceUnavailable('away'), {
      times: 1,
    });
    await cluster.run((config) => new ResourceQuotaController(config));
    await quotas.create({ metadata: { name: 'q' }, spec: { hard } });
    await cluster.clock.settle();
    expect((await quotas.get('q')).status.used).toBeUndefined();
    await cluster.clock.advance('31s');
    expect((await quotas.get('q')).status.used).toEqual({
      'count/deployments.apps': '0',
      pods: '0',
    });
    await cluster.stop();
  });

  test('of one group may fail; its resources are counted once they are discovered', async () => {
    const cluster = await startTestCluster();
    const quotas = cluster.client.resource(resourceQuotas).namespace('default');
    cluster.faults.fail('GET', /^\/apis\/apps\/v1$/, () => apierrors.serviceUnavailable('away'), {
      times: 1,
    });
    await cluster.run((config) => new ResourceQuotaController(config));
    await quotas.create({ metadata: { name: 'q' }, spec: { hard } });
    await cluster.clock.settle();
    expect((await quotas.get('q')).status.used).toEqual({ pods: '0' });
    await cluster.clock.advance('31s');
    expect((await quotas.get('q')).status.used).toEqual({
      'count/deployments.apps': '0',
      pods: '0',
    });
    await cluster.stop();
  });
});
