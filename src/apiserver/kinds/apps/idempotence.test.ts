// Who writes a workload or a job again as it is, changes nothing: no generation, no revision, no event for any watcher.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { startWorkloadServer, type WorkloadServer } from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
beforeEach(async () => {
  t = await startWorkloadServer();
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const template = (more: object = {}) => ({
  metadata: { labels: { app: 'a' } },
  spec: {
    containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1000m' } } }],
    ...more,
  },
});
const selector = { matchLabels: { app: 'a' } };
const job = { template: template({ restartPolicy: 'Never' }) };

const KINDS: readonly (readonly [kind: string, group: string, resource: string, rest: object])[] = [
  [
    'ControllerRevision',
    'apps',
    'controllerrevisions',
    { revision: 1, data: { a: { b: [1, null, 'c'] } } },
  ],
  ['DaemonSet', 'apps', 'daemonsets', { spec: { selector, template: template() } }],
  [
    'Deployment',
    'apps',
    'deployments',
    { spec: { selector, template: template(), strategy: { rollingUpdate: { maxSurge: 1 } } } },
  ],
  [
    'StatefulSet',
    'apps',
    'statefulsets',
    {
      spec: {
        selector,
        template: template(),
        serviceName: 's',
        volumeClaimTemplates: [
          {
            metadata: { name: 'd' },
            spec: {
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '1024Mi' } },
            },
          },
        ],
      },
    },
  ],
  ['CronJob', 'batch', 'cronjobs', { spec: { schedule: '@daily', jobTemplate: { spec: job } } }],
  ['Job', 'batch', 'jobs', { spec: job }],
];

describe.each(KINDS)('%s', (kind, group, resource, rest) => {
  const manifest = { apiVersion: `${group}/v1`, kind, metadata: { name: 'a' }, ...rest };
  const requests = () => t.resource(`/apis/${group}/v1/namespaces/default/${resource}`);

  test('put as it is, and as it was made', async () => {
    const made = await requests().create(manifest);
    expect(made.code).toBe(201);
    const { object: read } = await requests().get('a');
    expect(read).toEqual(made.object);
    const put = await requests().put('a', read);
    expect(put.code).toBe(200);
    expect(put.object).toEqual(read);
    // A job's generated parts cannot be left out again.
    if (kind === 'Job') return;
    const again = await requests().put('a', manifest);
    expect([again.code, again.message]).toEqual([200, '']);
    const { resourceVersion, generation } = again.object.metadata;
    expect({ resourceVersion, generation }).toEqual({
      resourceVersion: read.metadata.resourceVersion,
      generation: read.metadata.generation,
    });
  });

  test('applied again', async () => {
    const made = await requests().apply('a', manifest);
    expect([made.code, made.message]).toEqual([201, '']);
    const again = await requests().apply('a', manifest);
    expect(again.code).toBe(200);
    expect(again.object).toEqual(made.object);
  });

  test('its status, written as it is', async () => {
    if (kind === 'ControllerRevision') return;
    const { object } = await requests().create(manifest);
    const put = await requests().put('a/status', object);
    expect(put.code).toBe(200);
    expect(put.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test('made for show', async () => {
    const { code } = await t
      .resource(`/apis/${group}/v1/namespaces/default/${resource}?dryRun=All`)
      .create(manifest);
    expect(code).toBe(201);
    expect((await requests().get('a')).code).toBe(404);
  });
});
