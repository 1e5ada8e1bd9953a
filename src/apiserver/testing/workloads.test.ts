// Tests of the workload kinds as they are described.

import { expect, test } from 'vitest';

import { send } from './requests.ts';
import { startWorkloadServer } from './workloads.ts';

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
}

test.each([
  [
    'apps',
    [
      'controllerrevisions',
      'daemonsets',
      'daemonsets/status',
      'deployments',
      'deployments/scale',
      'deployments/status',
      'replicasets',
      'replicasets/scale',
      'replicasets/status',
      'statefulsets',
      'statefulsets/scale',
      'statefulsets/status',
    ],
  ],
  ['batch', ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status']],
])('the group %s', async (group, names) => {
  const t = await startWorkloadServer();
  try {
    const { json } = await send(t.server, { path: `/apis/${group}/v1` });
    const { resources } = json as unknown as ResourceList;
    expect(resources.map(({ name }) => name).sort()).toEqual(names);
    for (const { name, verbs } of resources) {
      expect(verbs).toEqual(
        name.includes('/')
          ? ['get', 'patch', 'update']
          : ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      );
    }
    const document = await send(t.server, { path: `/openapi/v3/apis/${group}/v1` });
    expect(document.code).toBe(200);
    for (const name of names) expect(document.text).toContain(`/${name.replace('/', '/{name}/')}`);
  } finally {
    await t.stop();
  }
  expect(t.logger.errors).toEqual([]);
});
