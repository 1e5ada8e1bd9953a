// Quotas, limit ranges, pod templates and component statuses through the API.

import { describe, expect, test } from 'vitest';

import type { ComponentStatus } from '#api/groups/core/v1/index.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const t = serverPerTest();
const api = new Api(t);

const at = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
const table = async (path: string): Promise<{ columns: string[]; rows: unknown[][] }> => {
  const headers = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
  const { json } = await send(t.server, { method: 'GET', path, headers });
  const { columnDefinitions, rows } = json as unknown as {
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[] }[];
  };
  return {
    columns: columnDefinitions.map(({ name }) => name),
    rows: rows.map(({ cells }) => cells),
  };
};

describe('quotas', () => {
  const quota =
    '{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 2, limits.cpu: 1, cpu: 500m}}}';

  test('show the usage in their status', async () => {
    expect((await api.post(at('resourcequotas'), quota)).json.status).toEqual({});
    const status = { hard: { pods: '2', 'limits.cpu': '1', cpu: '500m' }, used: { pods: '1' } };
    const { json } = await api.patch(at('resourcequotas/q/status'), {
      spec: { hard: { pods: '9' } },
      status,
    });
    expect(json).toMatchObject({ spec: { hard: { pods: '2' } }, status });
    expect(await table(at('resourcequotas'))).toEqual({
      columns: ['Name', 'Request', 'Limit', 'Age'],
      rows: [['q', 'cpu: 0/500m, pods: 1/2', 'limits.cpu: 0/1', '0s']],
    });
    expect((await api.delete(at('resourcequotas/q'))).json).toMatchObject({
      kind: 'ResourceQuota',
    });
  });

  test('keep their scopes', async () => {
    await api.post(
      at('resourcequotas'),
      '{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {scopes: [BestEffort]}}',
    );
    expect(
      outcome(await api.patch(at('resourcequotas/q'), { spec: { scopes: ['Terminating'] } })),
    ).toBe(
      '422 Invalid: ResourceQuota "q" is invalid: spec.scopes: Invalid value: ["Terminating"]: field is immutable',
    );
  });
});

describe('limit ranges', () => {
  const range = (metadata: string): string =>
    `{apiVersion: v1, kind: LimitRange, metadata: ${metadata}, spec: {limits: []}}`;

  test('can be created by PUT', async () => {
    expect((await api.put(at('limitranges/l'), range('{name: l}'))).code).toBe(201);
    expect((await table(at('limitranges'))).columns).toEqual(['Name', 'Created At']);
  });

  test('report validation errors', async () => {
    const bad =
      '{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Box}]}}';
    expect(outcome(await api.post(at('limitranges'), bad))).toBe(
      '422 Invalid: LimitRange "l" is invalid: spec.limits[0].type: Invalid value: "Box": must ' +
        'be a standard limit type or fully qualified',
    );
  });
});

describe('pod templates', () => {
  const template = `
apiVersion: v1
kind: PodTemplate
metadata: {name: p}
template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
`;

  test('have the defaults of pods, and count changes', async () => {
    const { json } = await api.post(at('podtemplates'), template);
    expect(json).toMatchObject({
      metadata: { generation: 1 },
      template: { spec: { restartPolicy: 'Always', containers: [{ imagePullPolicy: 'Always' }] } },
    });
    const changed = await api.patch(at('podtemplates/p'), {
      template: { spec: { restartPolicy: 'Never' } },
    });
    expect(changed.json.metadata.generation).toBe(2);
    expect(await table(at('podtemplates'))).toEqual({
      columns: ['Name', 'Containers', 'Images', 'Pod Labels'],
      rows: [['p', 'c', 'i', 'a=b']],
    });
  });

  test('are validated like pods', async () => {
    const answer = await api.post(at('podtemplates'), template.replace('name: c,', 'name: C,'));
    expect(outcome(answer)).toMatch(
      /^422 Invalid: .*template\.spec\.containers\[0\]\.name: Invalid value: "C"/,
    );
  });
});

describe('component statuses', () => {
  const STATUSES = '/api/v1/componentstatuses';

  test('show the store, and warn that the kind is deprecated', async () => {
    const answer = await api.get(`${STATUSES}?fieldSelector=metadata.name=etcd-0`);
    expect(answer.json).toMatchObject({
      kind: 'ComponentStatusList',
      items: [
        {
          metadata: { name: 'etcd-0' },
          conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
        },
      ],
    });
    expect(answer.warnings.join()).toContain('v1 ComponentStatus is deprecated in v1.19+');
    expect((await api.get(`${STATUSES}/etcd-0`)).json).toMatchObject({ kind: 'ComponentStatus' });
    expect(outcome(await api.get(`${STATUSES}/other`))).toBe(
      '404 NotFound: componentstatus "other" not found',
    );
  });

  test('are unknown for components that the server cannot reach', async () => {
    const error = 'this API server does not know how to reach the component';
    expect((await table(STATUSES)).rows).toEqual([
      ['controller-manager', 'Unhealthy', '', error],
      ['scheduler', 'Unhealthy', '', error],
      ['etcd-0', 'Healthy', 'ok', ''],
    ]);
  });

  test('show the results of the components’ checks', async () => {
    const withHealth = await startTestServer({
      componentHealth: {
        'controller-manager': () => Promise.resolve(),
        scheduler: () => Promise.reject(new Error('connect ECONNREFUSED')),
      },
    });
    const { json } = await send(withHealth.server, { method: 'GET', path: STATUSES });
    expect(
      (json.items as unknown as ComponentStatus[]).map(({ metadata, conditions }) => [
        metadata.name,
        conditions?.[0],
      ]),
    ).toEqual([
      ['controller-manager', { type: 'Healthy', status: 'True', message: 'ok' }],
      ['scheduler', { type: 'Healthy', status: 'False', error: 'connect ECONNREFUSED' }],
      ['etcd-0', { type: 'Healthy', status: 'True', message: 'ok' }],
    ]);
    const scheduler = await send(withHealth.server, {
      method: 'GET',
      path: `${STATUSES}/scheduler`,
    });
    expect(scheduler.json).toMatchObject({
      kind: 'ComponentStatus',
      metadata: { name: 'scheduler' },
    });
    await withHealth.stop();
  });

  test('can be selected', async () => {
    const names = async (query: string): Promise<number> =>
      (await api.get(`${STATUSES}?${query}`)).json.items.length;
    expect(await names('fieldSelector=metadata.name=etcd-0')).toBe(1);
    expect(await names('fieldSelector=metadata.name=other')).toBe(0);
    expect(await names('labelSelector=a=b')).toBe(0);
  });

  test('are read-only', async () => {
    expect(
      (await api.post(STATUSES, '{apiVersion: v1, kind: ComponentStatus, metadata: {name: a}}'))
        .code,
    ).toBe(405);
  });
});
