import { beforeEach, expect, test } from 'vitest';

import { Api, outcome } from '../testing/api.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PODS = '/api/v1/namespaces/default/pods';

const t = serverPerTest();
const api = new Api(t);
beforeEach(async () => {
  const node = async (name: string, os: string | undefined, allocatable: object | undefined) => {
    const labels = os === undefined ? {} : { 'kubernetes.io/os': os };
    await api.post('/api/v1/nodes', {
      metadata: { name, labels },
      status: { capacity: allocatable, allocatable },
    });
  };
  await node('n', undefined, { cpu: '4', memory: '1Gi' });
  await node('linux', 'linux', { cpu: '4', memory: '1Gi' });
  await node('windows', 'windows', { cpu: '4', memory: '1Gi' });
  await node('empty', undefined, undefined);
});

const create = (nodeName: string | undefined, spec: object = {}) =>
  api.post(PODS, {
    metadata: { name: 'p' },
    spec: {
      nodeName,
      containers: [
        { name: 'c', image: 'i', resources: { requests: { cpu: '1', memory: '100Mi' } } },
        { name: 'd', image: 'i', resources: { requests: { cpu: '1' } } },
      ],
      ...spec,
    },
  });

async function resize(requests: object) {
  const { json } = await api.get(`${PODS}/p`);
  const [c, d] = (json.spec as { containers: object[] }).containers;
  return api.put(`${PODS}/p/resize`, {
    ...json,
    spec: { ...json.spec, containers: [{ ...c, resources: { requests } }, d] },
  });
}

const forbidden = (why: string) => `403 Forbidden: pods "p" is forbidden: ${why}`;
const TOO_MUCH = "node didn't have enough allocatable resources: ";

test.each(['n', 'linux'])('a pod on %s may have all resources of its node', async (node) => {
  expect((await create(node)).code).toBe(201);
  expect(outcome(await resize({ cpu: '3', memory: '1Gi' }))).toBe('200');
});

test.each([
  [{ cpu: '3001m', memory: '100Mi' }, 'cpu, requested: 4001, allocatable: 4000'],
  [{ cpu: '1', memory: '1025Mi' }, 'memory, requested: 1074790400, allocatable: 1073741824'],
  [
    { cpu: '5', memory: '2Gi' },
    'cpu, requested: 6000, allocatable: 4000; memory, requested: 2147483648, allocatable: 1073741824',
  ],
])('but not %j', async (requests, why) => {
  await create('n');
  const refused = await resize(requests);
  expect(outcome(refused)).toBe(forbidden(TOO_MUCH + why));
  expect(refused.json.details).toEqual({
    name: 'p',
    kind: 'pods',
    causes: [{ reason: 'NodeCapacity' }],
  });
});

test('the overhead of a pod’s runtime class counts, too', async () => {
  const overhead = { podFixed: { cpu: '1' } };
  await api.post('/apis/node.k8s.io/v1/runtimeclasses', {
    metadata: { name: 'vm' },
    handler: 'vm',
    overhead,
  });
  await create('n', { runtimeClassName: 'vm' });
  expect(outcome(await resize({ cpu: '3', memory: '100Mi' }))).toBe(
    forbidden(`${TOO_MUCH}cpu, requested: 5000, allocatable: 4000`),
  );
});

test('a node without capacity has nothing to allocate', async () => {
  await create('empty');
  expect(outcome(await resize({ cpu: '2', memory: '100Mi' }))).toBe(
    forbidden(
      `${TOO_MUCH}cpu, requested: 3000, allocatable: 0; memory, requested: 104857600, allocatable: 0`,
    ),
  );
});

test('only nodes of Linux can resize', async () => {
  await create('windows');
  const refused = await resize({ cpu: '2', memory: '100Mi' });
  expect(outcome(refused)).toBe(
    forbidden('pod resize is only supported on linux nodes, node "windows" is "windows"'),
  );
  expect(refused.json.details?.causes).toEqual([{ reason: 'UnsupportedPlatform' }]);
});

test('a resize on a deleted node is rejected', async () => {
  await create('gone');
  expect(outcome(await resize({ cpu: '2', memory: '100Mi' }))).toBe(
    forbidden('node "gone" not found'),
  );
});

test('an unchanged pod, or one without a node, is not checked', async () => {
  await create('gone');
  expect(outcome(await resize({ cpu: '1', memory: '100Mi' }))).toBe('200');
  await api.delete(`${PODS}/p`, { gracePeriodSeconds: 0 });
  await create(undefined);
  expect(outcome(await resize({ cpu: '100', memory: '100Mi' }))).toBe('200');
});
