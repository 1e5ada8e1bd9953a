// Running pods, through their subresources ephemeralcontainers and resize.

import { beforeEach, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { type RawResponse, send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/pods';
const STRATEGIC = 'application/strategic-merge-patch+json';

const t = serverPerTest();
const api = new Api(t);
beforeEach(async () => {
  await api.post('/api/v1/nodes', {
    metadata: { name: 'n1' },
    status: { allocatable: { cpu: '4', memory: '4Gi' } },
  });
  const created = await api.post(
    PATH,
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec: {nodeName: n1, ' +
      'containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}',
  );
  expect(outcome(created)).toBe('201');
});

const patch = (subresource: string, body: object): Promise<RawResponse> =>
  send(t.server, {
    method: 'PATCH',
    path: `${PATH}/a/${subresource}`,
    headers: { 'content-type': STRATEGIC },
    body,
  });

test('a debug container is added with its defaults, and nothing else changes', async () => {
  const ephemeralContainers = [
    { name: 'debug', image: 'busybox', stdin: true, tty: true, targetContainerName: 'c' },
  ];
  const { code, json } = await patch('ephemeralcontainers', {
    metadata: { labels: { app: 'z' } },
    spec: { ephemeralContainers, nodeSelector: { z: 'z' } },
  });
  expect(code).toBe(200);
  expect(json.metadata.labels).toEqual({ app: 'a' });
  expect(json.metadata.generation).toBe(2);
  expect(json.spec).not.toHaveProperty('nodeSelector');
  expect(json.spec?.['ephemeralContainers']).toEqual([
    {
      ...ephemeralContainers[0],
      resources: {},
      imagePullPolicy: 'Always',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    },
  ]);
  const managers = json.metadata.managedFields?.map(({ operation, subresource }) => [
    operation,
    subresource,
  ]);
  expect(managers).toContainEqual(['Update', 'ephemeralcontainers']);
});

test('a debug container stays, and new pods cannot have one', async () => {
  await patch('ephemeralcontainers', {
    spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] },
  });
  expect(
    outcome(await patch('ephemeralcontainers', { spec: { ephemeralContainers: null } })),
  ).toContain(
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed',
  );
  const other = await patch('ephemeralcontainers', {
    spec: { ephemeralContainers: [{ name: 'c', image: 'x' }] },
  });
  expect(outcome(other)).toContain('spec.ephemeralContainers[0].name: Duplicate value: "c"');
});

test('a resize changes only resources', async () => {
  const { code, json } = await patch('resize', {
    metadata: { annotations: { z: 'z' } },
    spec: {
      hostname: 'z',
      containers: [
        { name: 'c', image: 'z', resources: { requests: { cpu: '2' }, limits: { cpu: '3' } } },
      ],
    },
  });
  expect(code).toBe(200);
  expect(json.metadata).not.toHaveProperty('annotations');
  expect(json.metadata.generation).toBe(2);
  expect(json.spec).not.toHaveProperty('hostname');
  expect(json.spec?.['containers']).toMatchObject([
    { image: 'x', resources: { requests: { cpu: '2' }, limits: { cpu: '3' } } },
  ]);
  const again = await patch('resize', {
    spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] },
  });
  expect(again.json.metadata.generation).toBe(2);
});

test('a forbidden resize is rejected', async () => {
  const refused = (resources: object) =>
    patch('resize', { spec: { containers: [{ name: 'c', resources }] } });
  expect(outcome(await refused({ requests: { cpu: null } }))).toContain(
    'resource requests cannot be removed',
  );
  expect(outcome(await refused({ requests: { 'ephemeral-storage': '1Gi' } }))).toContain(
    'spec: Forbidden: only cpu and memory resources are mutable',
  );
  const more = await patch('resize', { spec: { containers: [{ name: 'd', image: 'x' }] } });
  expect(outcome(more)).toContain(
    'spec.containers: Forbidden: containers may not be added or removed on resize',
  );
});
