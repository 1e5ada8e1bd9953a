// Flow schemas and priority levels through the server: the objects of every cluster, defaults and
// validation.

import { expect, test } from 'vitest';

import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { requestsOf } from '#apiserver/testing/workloads.ts';

const GROUP = '/apis/flowcontrol.apiserver.k8s.io/v1';
const t = serverPerTest();
const schemas = () => requestsOf(t, `${GROUP}/flowschemas`);
const levels = () => requestsOf(t, `${GROUP}/prioritylevelconfigurations`);

test('the objects of every cluster', async () => {
  const { columns, rows } = await schemas().table();
  expect(columns).toEqual([
    'Name',
    'PriorityLevel',
    'MatchingPrecedence',
    'DistinguisherMethod',
    'Age',
    'MissingPL',
  ]);
  expect(
    rows.map(([name, level, precedence, method]) => [name, level, precedence, method]),
  ).toEqual([
    ['exempt', 'exempt', 1, '<none>'],
    ['probes', 'exempt', 2, '<none>'],
    ['system-leader-election', 'leader-election', 100, 'ByUser'],
    ['system-node-high', 'node-high', 400, 'ByUser'],
    ['system-nodes', 'system', 500, 'ByUser'],
    ['kube-controller-manager', 'workload-high', 800, 'ByNamespace'],
    ['kube-scheduler', 'workload-high', 800, 'ByNamespace'],
    ['kube-system-service-accounts', 'workload-high', 900, 'ByNamespace'],
    ['service-accounts', 'workload-low', 9000, 'ByUser'],
    ['global-default', 'global-default', 9900, 'ByUser'],
    ['catch-all', 'catch-all', 10_000, 'ByUser'],
  ]);
  const table = await levels().table();
  expect(table.rows.map((cells) => cells.slice(0, 6))).toEqual([
    ['catch-all', 'Limited', 5, '<none>', '<none>', '<none>'],
    ['exempt', 'Exempt', '<none>', '<none>', '<none>', '<none>'],
    ['global-default', 'Limited', 20, 128, 6, 50],
    ['leader-election', 'Limited', 10, 16, 4, 50],
    ['node-high', 'Limited', 40, 64, 6, 50],
    ['system', 'Limited', 30, 64, 6, 50],
    ['workload-high', 'Limited', 40, 128, 6, 50],
    ['workload-low', 'Limited', 100, 128, 6, 50],
  ]);
});

test('a start restores mandatory objects, and suggested ones unless taken over', async () => {
  const take = {
    metadata: { annotations: { 'apf.kubernetes.io/autoupdate-spec': 'false' } },
    spec: { matchingPrecedence: 600 },
  };
  expect((await schemas().patch('system-nodes', take)).code).toBe(200);
  expect(
    (await schemas().patch('service-accounts', { spec: { matchingPrecedence: 600 } })).code,
  ).toBe(200);
  const shares = { spec: { exempt: { nominalConcurrencyShares: 7 } } };
  expect((await levels().patch('exempt', shares)).code).toBe(200);
  expect((await levels().patch('exempt', { metadata: { annotations: null } })).code).toBe(200);
  await levels().delete('catch-all');
  await t.server.start();
  expect((await schemas().get('system-nodes')).object.spec['matchingPrecedence']).toBe(600);
  expect((await schemas().get('service-accounts')).object.spec['matchingPrecedence']).toBe(9000);
  expect((await levels().get('catch-all')).code).toBe(200);
  const { object } = await levels().get('exempt');
  expect(object.spec['exempt']).toEqual({ nominalConcurrencyShares: 7, lendablePercent: 0 });
  expect(object.metadata.annotations).toEqual({ 'apf.kubernetes.io/autoupdate-spec': 'true' });
});

test('defaults, rejections, generation and status', async () => {
  const spec = { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } };
  const created = await levels().create({
    metadata: { name: 'it' },
    spec,
    status: { conditions: [{ type: 'a' }] },
  });
  expect(created.code).toBe(201);
  expect(created.object.spec).toEqual({
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    },
  });
  expect(created.object.status).toEqual({});
  expect(created.object.metadata.generation).toBe(1);
  const bad = await levels().patch('it', { spec: { limited: { lendablePercent: 200 } } });
  expect([bad.code, bad.causes]).toEqual([422, ['spec.limited.lendablePercent']]);
  expect(
    (await levels().patch('it', { spec: { limited: { lendablePercent: 20 } } })).object.metadata
      .generation,
  ).toBe(2);
  const { resourceVersion: _, ...metadata } = created.object.metadata;
  expect((await levels().put('it', { ...created.object, metadata })).causes).toEqual([]);

  const status = { conditions: [{ type: 'Dangling', status: 'True' }] };
  await schemas().create({
    metadata: { name: 'it' },
    spec: { priorityLevelConfiguration: { name: 'none' } },
  });
  const wrong = await schemas().patch('it/status', { status: { conditions: [{ type: '' }] } });
  expect(wrong.causes).toEqual(['status.conditions[0].type']);
  const written = await schemas().patch('it/status', {
    metadata: { labels: { a: 'b' } },
    spec: { matchingPrecedence: 7 },
    status,
  });
  expect(written.object.metadata.labels).toBeUndefined();
  expect(written.object.spec['matchingPrecedence']).toBe(1000);
  expect((await schemas().table()).rows.find(([name]) => name === 'it')?.at(-1)).toBe('True');
});

test('a schema shows whether its priority level exists', async () => {
  const missing = async (): Promise<unknown[]> =>
    (await schemas().table()).rows.map((cells) => cells.at(-1));
  expect(new Set(await missing())).toEqual(new Set(['False']));
  const reference = 'This FlowSchema references the PriorityLevelConfiguration object named "mine"';
  const levelExists = {
    type: 'Dangling',
    status: 'False',
    reason: 'Found',
    message: `${reference} and it exists`,
  };
  const levelMissing = {
    type: 'Dangling',
    status: 'True',
    reason: 'NotFound',
    message: `${reference} but there is no such object`,
  };
  const conditions = async (): Promise<unknown> =>
    (await schemas().get('it')).object.status['conditions'];
  const level = {
    metadata: { name: 'mine' },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  };

  await schemas().create({
    metadata: { name: 'it' },
    spec: { priorityLevelConfiguration: { name: 'mine' } },
  });
  expect(await conditions()).toEqual([{ ...levelMissing, lastTransitionTime: expect.any(String) }]);
  expect((await schemas().get('it')).object.metadata).toMatchObject({
    managedFields: [
      {
        manager: 'api-priority-and-fairness-config-consumer-v1',
        operation: 'Apply',
        subresource: 'status',
      },
      { manager: 'unknown', operation: 'Update' },
    ],
  });
  await levels().create(level);
  expect(await conditions()).toMatchObject([levelExists]);
  const { resourceVersion } = (await schemas().get('it')).object.metadata;
  await t.server.start();
  expect((await schemas().get('it')).object.metadata.resourceVersion).toBe(resourceVersion);
  await levels().delete('mine');
  expect(await conditions()).toMatchObject([levelMissing]);
  await schemas().patch('it', { spec: { priorityLevelConfiguration: { name: 'system' } } });
  expect(await conditions()).toMatchObject([{ status: 'False' }]);
  await schemas().patch('it/status', {
    status: { conditions: [{ type: 'Mine', status: 'True' }] },
  });
  await schemas().patch('it', { spec: { priorityLevelConfiguration: { name: 'mine' } } });
  expect(await conditions()).toMatchObject([{ type: 'Mine' }, levelMissing]);
});
