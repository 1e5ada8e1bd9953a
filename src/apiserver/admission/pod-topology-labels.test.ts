import { beforeEach, expect, test } from 'vitest';

import { Api } from '../testing/api.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PODS = '/api/v1/namespaces/default/pods';
const ZONE = 'topology.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';

const t = serverPerTest();
const api = new Api(t);
beforeEach(async () => {
  const node = (name: string, labels?: object) =>
    api.post('/api/v1/nodes', { metadata: { name, labels } });
  await node('both', { [ZONE]: 'z', [REGION]: 'r', 'kubernetes.io/os': 'linux' });
  await node('zoned', { [ZONE]: 'z' });
  await node('bare');
});

const pod = (labels: object | undefined, nodeName?: string) => ({
  metadata: { name: 'p', labels },
  spec: { containers: [{ name: 'c', image: 'i' }], nodeName },
});
const labels = async () => (await api.get(`${PODS}/p`)).json.metadata.labels;
const binding = (name: string, metadata: object = {}) => ({
  metadata: { name: 'p', ...metadata },
  target: { kind: 'Node', name },
});

const CASES: [node: string, own: object | undefined, then: object | undefined][] = [
  ['both', { a: 'b' }, { a: 'b', [ZONE]: 'z', [REGION]: 'r' }],
  ['both', { [ZONE]: 'mine' }, { [ZONE]: 'z', [REGION]: 'r' }],
  ['zoned', { [REGION]: 'mine' }, { [ZONE]: 'z', [REGION]: 'mine' }],
  ['zoned', undefined, { [ZONE]: 'z' }],
  ['bare', { [ZONE]: 'mine' }, { [ZONE]: 'mine' }],
  ['unknown', undefined, undefined],
];

test.each(CASES)('a pod that is bound to the node %s with labels %j', async (node, own, then) => {
  await api.post(PODS, pod(own));
  expect((await api.post(`${PODS}/p/binding`, binding(node))).code).toBe(201);
  expect(await labels()).toEqual(then);
});

test.each(CASES)('a pod that is made for the node %s with labels %j', async (node, own, then) => {
  expect((await api.post(PODS, pod(own, node))).code).toBe(201);
  expect(await labels()).toEqual(then);
});

test('the other labels of a binding stay, but not its topology labels', async () => {
  await api.post(PODS, pod({ z: 'pod', a: 'pod', b: 'pod' }));
  await api.post(
    `${PODS}/p/binding`,
    binding('zoned', { labels: { a: 'binding', [ZONE]: 'binding' } }),
  );
  expect(Object.entries((await labels()) ?? {})).toEqual([
    ['a', 'binding'],
    ['b', 'pod'],
    [ZONE, 'z'],
    ['z', 'pod'],
  ]);
});

test('a pod without a node, or bound through the old resource, gets no labels', async () => {
  await api.post(PODS, pod(undefined));
  expect(await labels()).toBeUndefined();
  expect((await api.post('/api/v1/namespaces/default/bindings', binding('both'))).code).toBe(201);
  expect(await labels()).toBeUndefined();
});

test('labels that are removed later stay removed', async () => {
  await api.post(PODS, pod(undefined, 'zoned'));
  await api.patch(`${PODS}/p`, { metadata: { labels: null } });
  expect(await labels()).toBeUndefined();
});
