// Writing an unchanged workload or job again changes nothing: no generation, no revision, no watch
// event.

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

  test('an update with the same object, as read and as created', async () => {
    const created = await requests().create(manifest);
    expect(created.code).toBe(201);
    const { object: read } = await requests().get('a');
    expect(read).toEqual(created.object);
    const put = await requests().put('a', read);
    expect(put.code).toBe(200);
    expect(put.object).toEqual(read);
    // The generated fields of a job cannot be omitted.
    if (kind === 'Job') return;
    const again = await requests().put('a', manifest);
    expect([again.code, again.message]).toEqual([200, '']);
    const { resourceVersion, generation } = again.object.metadata;
    expect({ resourceVersion, generation }).toEqual({
      resourceVersion: read.metadata.resourceVersion,
      generation: read.metadata.generation,
    });
  });

  test('a second apply', async () => {
    const created = await requests().apply('a', manifest);
    expect([created.code, created.message]).toEqual([201, '']);
    const again = await requests().apply('a', manifest);
    expect(again.code).toBe(200);
    expect(again.object).toEqual(created.object);
  });

  test('an update of the same status', async () => {
    if (kind === 'ControllerRevision') return;
    const { object } = await requests().create(manifest);
    const put = await requests().put('a/status', object);
    expect(put.code).toBe(200);
    expect(put.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test('a dry run', async () => {
    const { code } = await t
      .resource(`/apis/${group}/v1/namespaces/default/${resource}?dryRun=All`)
      .create(manifest);
    expect(code).toBe(201);
    expect((await requests().get('a')).code).toBe(404);
  });
});
