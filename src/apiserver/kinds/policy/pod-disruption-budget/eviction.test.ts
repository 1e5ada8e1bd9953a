// Evictions of pods with and without budgets.

import { expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import type { RawResponse } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

const t = serverPerTest();
const api = new Api(t);

interface Given {
  phase?: string;
  ready?: boolean;
}

const addPod = async ({ phase = 'Running', ready = true }: Given = {}): Promise<void> => {
  const spec = {
    nodeName: 'n',
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'c', image: 'i' }],
  };
  expect((await api.post(PODS, { metadata: { name: 'p', labels: { app: 'x' } }, spec })).code).toBe(
    201,
  );
  const status = { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] };
  expect((await api.patch(`${PODS}/p/status`, { status })).code).toBe(200);
};
const addBudget = async (status: object, spec: object = {}, name = 'b'): Promise<void> => {
  const selector = { matchLabels: { app: 'x' } };
  await api.post(BUDGETS, { metadata: { name }, spec: { minAvailable: 1, selector, ...spec } });
  const all = {
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    observedGeneration: 1,
    ...status,
  };
  expect((await api.patch(`${BUDGETS}/${name}/status`, { status: all })).code).toBe(200);
};
const evict = (more: object = {}, query = ''): Promise<RawResponse> =>
  api.post(`${PODS}/p/eviction${query}`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'p' },
    ...more,
  });
const isThere = async (): Promise<boolean> => (await api.get(`${PODS}/p`)).code === 200;

test('a pod without a budget is deleted', async () => {
  await addPod();
  expect((await evict()).code).toBe(201);
  expect(await isThere()).toBe(false);
});

test('the server owns what an eviction changes in the budget', async () => {
  await addPod();
  await addBudget({ disruptionsAllowed: 1 });
  expect((await evict({}, '?fieldManager=me&dryRun=All')).code).toBe(201);
  expect((await api.get(`${BUDGETS}/b`)).json.status).toMatchObject({ disruptionsAllowed: 1 });
  expect((await evict({}, '?fieldManager=me')).code).toBe(201);
  const { metadata, status } = (await api.get(`${BUDGETS}/b`)).json;
  expect(status).toMatchObject({ disruptionsAllowed: 0, disruptedPods: { p: expect.anything() } });
  expect(metadata.managedFields?.map(({ manager }) => manager)).toContain('kube-apiserver');
  expect(metadata.managedFields?.map(({ manager }) => manager)).not.toContain('me');
});

test('an exhausted budget rejects, with the reason', async () => {
  await addPod();
  await addBudget({});
  const { code, json } = await evict();
  expect(code).toBe(429);
  expect(json).toMatchObject({
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget b needs 1 healthy pods and has 1 currently',
        },
      ],
    },
  });
  expect(await isThere()).toBe(true);
});

test('an unprocessed budget asks the client to retry', async () => {
  await addPod();
  await addBudget({ observedGeneration: 0, disruptionsAllowed: 1 });
  const { code, json } = await evict();
  expect(code).toBe(429);
  expect(json.details).toMatchObject({
    retryAfterSeconds: 10,
    causes: [{ message: 'The disruption budget b is still being processed by the server.' }],
  });
});

test('a budget with a failure reports the reason', async () => {
  await addPod();
  const time = '2026-01-01T00:00:00Z';
  const condition = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'SyncFailed',
    message: 'no idea',
    lastTransitionTime: time,
  };
  await addBudget({ conditions: [condition] });
  expect((await evict()).json.details).toMatchObject({
    causes: [
      {
        message:
          'The disruption budget b does not allow evicting pods currently because it failed sync: no idea',
      },
    ],
  });
});

test('an allowed disruption is subtracted from the budget', async () => {
  await addPod();
  await addBudget({ disruptionsAllowed: 1, currentHealthy: 2 });
  expect((await evict({}, '?dryRun=All')).code).toBe(201);
  expect((await api.get(`${BUDGETS}/b`)).json.status).toMatchObject({ disruptionsAllowed: 1 });
  expect((await evict()).code).toBe(201);
  expect(await isThere()).toBe(false);
  expect((await api.get(`${BUDGETS}/b`)).json.status).toMatchObject({
    disruptionsAllowed: 0,
    disruptedPods: { p: expect.stringMatching(/Z$/) },
    conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
  });
});

test.each<[string, Given, object, object, number]>([
  ['has ended', { phase: 'Succeeded' }, {}, {}, 201],
  ['has not begun', { phase: 'Pending', ready: false }, {}, {}, 201],
  [
    'is not healthy while enough others are',
    { ready: false },
    { currentHealthy: 2, desiredHealthy: 2 },
    {},
    201,
  ],
  [
    'is not healthy while others lack',
    { ready: false },
    { currentHealthy: 1, desiredHealthy: 2 },
    {},
    429,
  ],
  [
    'is not healthy, which the budget does not guard',
    { ready: false },
    { currentHealthy: 1, desiredHealthy: 2 },
    { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    201,
  ],
  ['is of no budget', {}, {}, { selector: { matchLabels: { app: 'y' } } }, 201],
  ['is of a budget of all', {}, {}, { selector: {} }, 429],
  ['is of a budget of none', {}, {}, { selector: null }, 201],
])('a pod that %s', async (_, pod, status, spec, code) => {
  await addPod(pod);
  await addBudget(status, spec);
  expect((await evict()).code).toBe(code);
  expect(await isThere()).toBe(code !== 201);
});

test('two budgets for one pod are an error', async () => {
  await addPod();
  await addBudget({ disruptionsAllowed: 1 });
  await addBudget({ disruptionsAllowed: 1 }, {}, 'c');
  expect(outcome(await evict())).toBe(
    '500 : This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  );
});

test('preconditions of the client are checked', async () => {
  await addPod();
  expect((await evict({ deleteOptions: { preconditions: { uid: 'other' } } })).code).toBe(409);
  expect((await evict({ deleteOptions: { preconditions: { resourceVersion: '1' } } })).code).toBe(
    409,
  );
  expect(outcome(await evict({ metadata: { name: 'q' } }))).toContain('400');
  expect(await isThere()).toBe(true);
});
