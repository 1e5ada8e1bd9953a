import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  configMaps,
  type Container,
  pods,
  type PodSpec,
  resourceQuotas,
  type ResourceQuotaSpec,
  services,
} from '#api/groups/core/v1/index.ts';
import { deployments } from '#api/groups/apps/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { startTestServer } from '#apiserver/testing/server.ts';

import type { LimitedResource } from '../configuration.ts';

type Server = Awaited<ReturnType<typeof startTestServer>>;

describe('quotas', () => {
  let server: Server;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server.stop());

  /** Creates a quota with a status as the quota controller writes it. `used`: the usage. */
  const quota = async (
    name: string,
    spec: New<ResourceQuotaSpec>,
    used?: Record<string, string>,
  ) => {
    const client = server.client.resource(resourceQuotas).namespace('default');
    const created = await client.create({ metadata: { name }, spec });
    const nothing = Object.fromEntries(Object.keys(spec.hard ?? {}).map((key) => [key, '0']));
    await client.updateStatus({
      ...created,
      status: { hard: { ...created.spec.hard }, used: { ...nothing, ...used } },
    });
  };
  const usedOf = async (name: string) =>
    (await server.client.resource(resourceQuotas).namespace('default').get(name)).status.used;
  const pod = (
    resources: New<Container['resources']> = {},
    spec: New<PodSpec> = {},
    options = {},
  ) =>
    server.client
      .resource(pods)
      .namespace('default')
      .create(
        {
          metadata: { generateName: 'p-' },
          spec: { containers: [{ name: 'c', image: 'i', resources }], ...spec },
        },
        options,
      );
  const requests = (cpu: string, memory: string) => ({ requests: { cpu, memory } });

  test('are charged with the requests of pods, and reject pods that exceed them', async () => {
    await quota('q', { hard: { pods: '2', 'requests.cpu': '1', 'limits.memory': '1Gi' } });
    const resources = { requests: { cpu: '600m' }, limits: { memory: '256Mi' } };
    await pod(resources);
    expect(await usedOf('q')).toEqual({
      'limits.memory': '256Mi',
      pods: '1',
      'requests.cpu': '600m',
    });
    const { metadata } = await server.client.resource(resourceQuotas).namespace('default').get('q');
    expect(metadata.managedFields?.at(-1)).toMatchObject({
      manager: 'kube-apiserver',
      operation: 'Update',
      subresource: 'status',
      fieldsV1: { 'f:status': { 'f:used': { 'f:pods': {}, 'f:requests.cpu': {} } } },
    });
    await expect(pod(resources)).rejects.toMatchObject({
      code: 403,
      message: expect.stringMatching(
        new RegExp(
          '^pods "p-\\w+" is forbidden: exceeded quota: q, requested: requests.cpu=600m, ' +
            'used: requests.cpu=600m, limited: requests.cpu=1$',
        ),
      ),
    });
    expect(await usedOf('q')).toMatchObject({ pods: '1' });
    await pod({ ...resources, requests: { cpu: '400m' } });
    expect(await usedOf('q')).toEqual({ 'limits.memory': '512Mi', pods: '2', 'requests.cpu': '1' });
    await expect(pod({ ...resources, requests: { cpu: '1m' } })).rejects.toThrow(
      'exceeded quota: q, requested: pods=1,requests.cpu=1m, used: pods=2,requests.cpu=1, ' +
        'limited: pods=2,requests.cpu=1',
    );
  });

  test.each([
    [
      { hard: { cpu: '1', memory: '1Gi' } },
      {},
      'failed quota: q: must specify cpu for: c; memory for: c',
    ],
    [
      { hard: { 'limits.cpu': '1' } },
      requests('1', '1Mi'),
      'failed quota: q: must specify limits.cpu for: c',
    ],
  ])('on %j require containers with requests or limits', async (spec, resources, message) => {
    await quota('q', spec);
    await expect(pod(resources)).rejects.toThrow(message);
  });

  test('reject everything that they limit before their first status', async () => {
    const client = server.client.resource(resourceQuotas).namespace('default');
    const created = await client.create({
      metadata: { name: 'q' },
      spec: { hard: { pods: '5', services: '1' } },
    });
    await client.updateStatus({ ...created, status: { hard: { pods: '5', services: '1' } } });
    await expect(pod()).rejects.toThrow('status unknown for quota: q, resources: pods');
  });

  test.each<[string, New<ResourceQuotaSpec>, New<PodSpec>, New<Container['resources']>, boolean]>([
    ['BestEffort', { scopes: ['BestEffort'] }, {}, {}, true],
    ['BestEffort', { scopes: ['BestEffort'] }, {}, requests('1', '1Mi'), false],
    ['NotBestEffort', { scopes: ['NotBestEffort'] }, {}, requests('1', '1Mi'), true],
    ['Terminating', { scopes: ['Terminating'] }, { activeDeadlineSeconds: 5 }, {}, true],
    ['Terminating', { scopes: ['Terminating'] }, {}, {}, false],
    ['NotTerminating', { scopes: ['NotTerminating'] }, {}, {}, true],
    ['PriorityClass', { scopes: ['PriorityClass'] }, {}, {}, false],
    [
      'a priority class',
      {
        scopeSelector: {
          matchExpressions: [
            { scopeName: 'PriorityClass', operator: 'In', values: ['system-node-critical'] },
          ],
        },
      },
      { priorityClassName: 'system-node-critical' },
      {},
      true,
    ],
    [
      'another priority class',
      {
        scopeSelector: {
          matchExpressions: [
            { scopeName: 'PriorityClass', operator: 'NotIn', values: ['system-node-critical'] },
          ],
        },
      },
      { priorityClassName: 'system-node-critical' },
      {},
      false,
    ],
    [
      'affinity across namespaces',
      { scopes: ['CrossNamespacePodAffinity'] },
      {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'zone', namespaces: ['other'] },
            ],
          },
        },
      },
      {},
      true,
    ],
  ])('of scope %s: %j with a pod %j %j: %s', async (_, spec, podSpec, resources, isCharged) => {
    await quota('q', { hard: { pods: '3' }, ...spec });
    await pod(resources, podSpec);
    expect(await usedOf('q')).toEqual({ pods: isCharged ? '1' : '0' });
  });

  test('count objects of every kind, some under two names', async () => {
    await quota('q', {
      hard: { configmaps: '1', 'count/configmaps': '2', 'count/deployments.apps': '0' },
    });
    const create = (name: string) =>
      server.client.resource(configMaps).namespace('default').create({ metadata: { name } });
    await create('one');
    expect(await usedOf('q')).toEqual({
      configmaps: '1',
      'count/configmaps': '1',
      'count/deployments.apps': '0',
    });
    await expect(create('two')).rejects.toThrow(
      'configmaps "two" is forbidden: exceeded quota: q, requested: configmaps=1, used: ' +
        'configmaps=1, limited: configmaps=1',
    );
    const labels = { app: 'd' };
    const deployment = {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    };
    await expect(
      server.client.resource(deployments).namespace('default').create(deployment),
    ).rejects.toThrow(
      'deployments.apps "d" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, ' +
        'used: count/deployments.apps=0, limited: count/deployments.apps=0',
    );
  });

  test('are charged with what an update adds', async () => {
    await quota('q', { hard: { services: '5', 'services.nodeports': '1' } });
    const client = server.client.resource(services).namespace('default');
    const port = (number: number) => ({ name: `p${number}`, port: number });
    await client.create({ metadata: { name: 's' }, spec: { ports: [port(80)] } });
    const patch = (spec: object) => client.patch('s', 'application/merge-patch+json', { spec });
    await patch({ type: 'NodePort' });
    expect(await usedOf('q')).toEqual({ services: '1', 'services.nodeports': '1' });
    await expect(patch({ ports: [port(80), port(81)] })).rejects.toThrow(
      'exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1',
    );
  });

  test.each<[string, (scope: 'Terminating' | 'NotTerminating') => New<ResourceQuotaSpec>]>([
    ['scopes', (scope) => ({ scopes: [scope] })],
    [
      'scopeSelector',
      (scope) => ({
        scopeSelector: { matchExpressions: [{ scopeName: scope, operator: 'Exists' }] },
      }),
    ],
  ])(
    'of terminating pods in %s are charged when a pod gets its deadline later',
    async (_, scoped) => {
      await quota('terminating', { hard: { pods: '1' }, ...scoped('Terminating') });
      await quota('running', { hard: { pods: '5' }, ...scoped('NotTerminating') });
      const client = server.client.resource(pods).namespace('default');
      const limit = (name: string) =>
        client.patch(name, 'application/merge-patch+json', {
          spec: { activeDeadlineSeconds: 3600 },
        });
      const [first, second] = [await pod(), await pod()];
      expect([await usedOf('terminating'), await usedOf('running')]).toEqual([
        { pods: '0' },
        { pods: '2' },
      ]);
      await limit(first.metadata.name);
      expect(await usedOf('terminating')).toEqual({ pods: '1' });
      const exceeded =
        'exceeded quota: terminating, requested: pods=1, used: pods=1, limited: pods=1';
      await expect(pod({}, { activeDeadlineSeconds: 3600 })).rejects.toThrow(exceeded);
      await expect(limit(second.metadata.name)).rejects.toThrow(exceeded);
      // Another update of a pod that is already charged costs nothing.
      await client.patch(first.metadata.name, 'application/merge-patch+json', {
        spec: { activeDeadlineSeconds: 60 },
      });
      await client.patch(second.metadata.name, 'application/merge-patch+json', {
        metadata: { labels: { a: 'b' } },
      });
      expect([await usedOf('terminating'), await usedOf('running')]).toEqual([
        { pods: '1' },
        { pods: '2' },
      ]);
    },
  );

  test('charge nothing for dry runs, and nothing if one of several quotas has no room', async () => {
    await quota('a', { hard: { pods: '1' } });
    await pod({}, {}, { dryRun: ['All'] });
    expect(await usedOf('a')).toEqual({ pods: '0' });
    await quota('b', { hard: { pods: '0' } });
    await expect(pod()).rejects.toThrow('exceeded quota: b');
    expect(await usedOf('a')).toEqual({ pods: '0' });
  });

  test('admit no more than fits, even concurrently', async () => {
    await quota('q', { hard: { pods: '3' } });
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => pod()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await usedOf('q')).toEqual({ pods: '3' });
  });

  describe('with limited resources', () => {
    const limited = (limits: Partial<LimitedResource>): Promise<Server> =>
      startTestServer({
        admissionSettings: {
          limitedResources: [
            { group: '', resource: 'pods', matchContains: [], matchScopes: [], ...limits },
          ],
        },
      });
    const forbidden = (message: string) => ({
      code: 403,
      message: expect.stringContaining(`is forbidden: ${message}`) as string,
    });

    test('a usage needs a quota that limits it', async () => {
      await server.stop();
      server = await limited({ matchContains: ['requests.memory', '.cpu'] });
      const needed = 'insufficient quota to consume: ';
      const all = { limits: { cpu: '1', memory: '1Mi' } };
      await expect(pod(all)).rejects.toMatchObject(
        forbidden(`${needed}limits.cpu,requests.cpu,requests.memory`),
      );
      await pod();
      await quota('q', { hard: { 'requests.cpu': '4', 'limits.cpu': '4' } });
      await expect(pod(all)).rejects.toMatchObject(forbidden(`${needed}requests.memory`));
      await pod({ limits: { cpu: '1' } });
      expect(await usedOf('q')).toEqual({ 'requests.cpu': '1', 'limits.cpu': '1' });
      // The problem of a quota comes first.
      await expect(pod(requests('1', '1Mi'))).rejects.toMatchObject(
        forbidden('failed quota: q: must specify limits.cpu for: c'),
      );
      // Other resources are not limited.
      await server.client
        .resource(configMaps)
        .namespace('default')
        .create({ metadata: { name: 'a' } });
    });

    test('a scope needs a quota of that scope', async () => {
      await server.stop();
      const values = ['system-cluster-critical'];
      const scope = { scopeName: 'PriorityClass', operator: 'In', values } as const;
      server = await limited({ matchScopes: [scope] });
      const critical = { priorityClassName: 'system-cluster-critical' };
      await pod();
      const message =
        'insufficient quota to match these scopes: [{PriorityClass In [system-cluster-critical]}]';
      await expect(pod({}, critical)).rejects.toMatchObject(forbidden(message));
      await quota('other', { hard: { pods: '9' }, scopes: ['BestEffort'] });
      await expect(pod({}, critical)).rejects.toMatchObject(forbidden(message));
      await quota('critical', {
        hard: { pods: '1' },
        scopeSelector: { matchExpressions: [scope] },
      });
      await pod({}, critical);
      await expect(pod({}, critical)).rejects.toThrow('exceeded quota: critical');
    });
  });
});
