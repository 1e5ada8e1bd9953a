// Autoscalers through the API, in both versions.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { ObjectFormat } from '#apiserver/registry/encoded-object.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';

const V1 = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
const V2 = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';

let t: TestServer;
let api: Api;
beforeEach(async () => {
  t = await startTestServer();
  api = new Api(t);
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const hpa = (spec: object = {}) => ({
  metadata: { name: 'a' },
  spec: { scaleTargetRef, maxReplicas: 5, ...spec },
});
const cpu = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};
const pods = {
  type: 'Pods',
  pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '10' } },
};
const rules = (more: object = {}) => ({
  policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
  ...more,
});

describe('defaults', () => {
  test('set one pod as the minimum, and a CPU metric', async () => {
    const { json } = await api.post(V2, hpa());
    expect(json.spec).toEqual({ scaleTargetRef, minReplicas: 1, maxReplicas: 5, metrics: [cpu] });
    expect(json.status).toEqual({ desiredReplicas: 0, currentMetrics: null });
    expect((await api.get(`${V1}/a`)).json).toMatchObject({
      apiVersion: 'autoscaling/v1',
      spec: { minReplicas: 1, maxReplicas: 5, targetCPUUtilizationPercentage: 80 },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    });
  });

  test('complete an existing behavior', async () => {
    const { json } = await api.post(
      V2,
      hpa({ behavior: { scaleDown: { selectPolicy: 'Min', tolerance: '50m' } } }),
    );
    expect(json.spec).toMatchObject({
      behavior: {
        scaleUp: {
          stabilizationWindowSeconds: 0,
          selectPolicy: 'Max',
          policies: [
            { type: 'Pods', value: 4, periodSeconds: 15 },
            { type: 'Percent', value: 100, periodSeconds: 15 },
          ],
        },
        scaleDown: {
          selectPolicy: 'Min',
          tolerance: '50m',
          policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
        },
      },
    });
  });
});

describe('the first version', () => {
  test('stores fields that it lacks in annotations, and restores them', async () => {
    await api.post(
      V2,
      hpa({
        metrics: [pods, cpu],
        behavior: { scaleDown: rules({ stabilizationWindowSeconds: 5 }) },
      }),
    );
    const before = (await api.get(`${V2}/a`)).json;
    const { json } = await api.get(`${V1}/a`);
    expect(json.spec).toEqual({
      scaleTargetRef,
      minReplicas: 1,
      maxReplicas: 5,
      targetCPUUtilizationPercentage: 80,
    });
    expect(
      JSON.parse(json.metadata.annotations?.['autoscaling.alpha.kubernetes.io/metrics'] ?? ''),
    ).toEqual([{ type: 'Pods', pods: { metricName: 'rps', targetAverageValue: '10' } }]);
    expect(json.metadata.annotations?.['autoscaling.alpha.kubernetes.io/behavior']).toContain(
      '"StabilizationWindowSeconds":5',
    );
    expect((await api.put(`${V1}/a`, json)).code).toBe(200);
    const { spec, metadata } = (await api.get(`${V2}/a`)).json;
    expect(spec?.['metrics']).toEqual([pods, cpu]);
    expect({ ...spec, metrics: [] }).toEqual({ ...before.spec, metrics: [] });
    expect(metadata.annotations).toBeUndefined();
  });

  test('creates a CPU metric if the object has no other', async () => {
    expect((await api.post(V1, hpa())).json.spec).toMatchObject({
      targetCPUUtilizationPercentage: 80,
    });
    expect(
      (await api.patch(`${V1}/a`, { spec: { targetCPUUtilizationPercentage: 30 } })).code,
    ).toBe(200);
    const { json } = await api.get(`${V2}/a`);
    expect(json.spec?.['metrics']).toMatchObject([
      { resource: { target: { averageUtilization: 30 } } },
    ]);
    expect(json.metadata.managedFields?.map(({ apiVersion }) => apiVersion)).toEqual([
      'autoscaling/v1',
    ]);
  });

  test('a client that omits the CPU metric owns its default', async () => {
    const owned = { fieldsV1: { 'f:spec': { 'f:targetCPUUtilizationPercentage': {} } } };
    expect((await api.post(V1, hpa())).json.metadata.managedFields).toMatchObject([owned]);
    await api.post(V2, { ...hpa({ metrics: [pods] }), metadata: { name: 'b' } });
    const { json } = await api.get(`${V1}/b`);
    expect((await api.put(`${V1}/b`, json)).json.spec).not.toHaveProperty(
      'targetCPUUtilizationPercentage',
    );
  });

  test('shows the status', async () => {
    await api.post(V2, hpa());
    const condition = {
      type: 'AbleToScale',
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      reason: 'R',
      message: 'm',
    };
    const currentMetrics = [
      {
        type: 'Resource',
        resource: { name: 'cpu', current: { averageUtilization: 7, averageValue: '70m' } },
      },
    ];
    const status = {
      currentReplicas: 2,
      desiredReplicas: 3,
      currentMetrics,
      conditions: [condition],
    };
    expect(
      (await api.patch(`${V2}/a/status`, { status, spec: { maxReplicas: 9 } })).json,
    ).toMatchObject({
      status,
      spec: { maxReplicas: 5 },
    });
    const first = (await api.get(`${V1}/a/status`)).json;
    expect(first.status).toEqual({
      currentReplicas: 2,
      desiredReplicas: 3,
      currentCPUUtilizationPercentage: 7,
    });
    expect((await api.put(`${V1}/a/status`, first)).code).toBe(200);
    expect((await api.get(`${V2}/a`)).json.status).toEqual(status);
    expect((await api.patch(`${V2}/a`, { status: { desiredReplicas: 9 } })).json.status).toEqual(
      status,
    );
  });

  test('annotations that carry fields are owned, but not in tables and metadata', async () => {
    await api.post(V1, hpa());
    const status = { status: { currentCPUUtilizationPercentage: 12, desiredReplicas: 3 } };
    const { json } = await api.patch(`${V1}/a/status`, status);
    const carried = 'autoscaling.alpha.kubernetes.io/current-metrics';
    expect(json.metadata.annotations).toHaveProperty([carried]);
    expect(json.metadata.managedFields?.at(-1)).toMatchObject({
      fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${carried}`]: {} } } },
    });
    expect((await api.get(`${V2}/a`)).json.status).toMatchObject({
      currentMetrics: [{ resource: { name: 'cpu', current: { averageUtilization: 12 } } }],
    });
    for (const form of ['Table', 'PartialObjectMetadata']) {
      const accept = `application/json;as=${form};v=v1;g=meta.k8s.io`;
      const { text } = await send(t.server, { path: `${V1}/a`, headers: { accept } });
      expect(text).toContain('"uid"');
      expect(text).not.toContain('{"autoscaling.alpha.kubernetes.io');
    }
  });

  test('an annotation that cannot be parsed is ignored', async () => {
    const annotations = {
      'autoscaling.alpha.kubernetes.io/metrics': '{',
      'autoscaling.alpha.kubernetes.io/behavior': '[]',
    };
    const { code } = await api.post(V1, { ...hpa(), metadata: { name: 'a', annotations } });
    expect(code).toBe(201);
    expect((await api.get(`${V2}/a`)).json.spec).toEqual({
      scaleTargetRef,
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [cpu],
    });
  });
});

const metric = (change: object) => hpa({ metrics: [change] }).spec;
const object = (change: object = {}) => ({
  type: 'Object',
  object: {
    describedObject: { kind: 'Service', name: 's', apiVersion: 'v1' },
    metric: { name: 'm' },
    target: { type: 'Value', value: '1' },
    ...change,
  },
});
const external = (target: object) => ({
  type: 'External',
  external: { metric: { name: 'm' }, target },
});
const container = (change: object) => ({
  type: 'ContainerResource',
  containerResource: {
    name: 'cpu',
    container: 'c',
    target: { type: 'Utilization', averageUtilization: 1 },
    ...change,
  },
});
const up = (change: object) => hpa({ behavior: { scaleUp: rules(change) } }).spec;

test.each<[object, string]>([
  [{ minReplicas: 0 }, 'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1'],
  [{ minReplicas: -1 }, 'spec.minReplicas: Invalid value: -1'],
  [{ maxReplicas: 0 }, 'spec.maxReplicas: Required value: must be set and greater than 0'],
  [
    { minReplicas: 6 },
    'spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`',
  ],
  [{ scaleTargetRef: { ...scaleTargetRef, kind: '' } }, 'spec.scaleTargetRef.kind: Required value'],
  [
    { scaleTargetRef: { ...scaleTargetRef, kind: '..' } },
    `spec.scaleTargetRef.kind: Invalid value: "..": may not be '..'`,
  ],
  [{ scaleTargetRef: { ...scaleTargetRef, name: '' } }, 'spec.scaleTargetRef.name: Required value'],
  [
    { scaleTargetRef: { ...scaleTargetRef, name: 'a/b' } },
    `spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'`,
  ],
  [{ scaleTargetRef: { kind: 'Deployment', name: 'd' } }, 'apiVersion must specify API group'],
  [
    { scaleTargetRef: { ...scaleTargetRef, apiVersion: 'a/b/c' } },
    'unexpected GroupVersion string: a/b/c',
  ],
  [metric({ type: '' }), 'spec.metrics[0].type: Required value: must specify a metric source type'],
  [metric({ type: 'Odd' }), 'spec.metrics[0].type: Unsupported value: "Odd"'],
  [
    metric({ type: 'Pods' }),
    'spec.metrics[0].pods: Required value: must populate information for the given metric source',
  ],
  [
    metric({ ...cpu, pods: pods.pods }),
    'spec.metrics[0].pods: Forbidden: must populate the given metric source only',
  ],
  [
    metric(object({ metric: { name: '' } })),
    'spec.metrics[0].object.metric.name: Required value: must specify a metric name',
  ],
  [metric(object({ metric: { name: 'a/b' } })), `may not contain '/'`],
  [metric(object({ target: { type: 'Value' } })), 'must set either a target value or averageValue'],
  [
    metric(object({ target: { type: 'Odd', value: '1' } })),
    'must be either Utilization, Value, or AverageValue',
  ],
  [metric(object({ target: { type: '', value: '1' } })), 'must specify a metric target type'],
  [
    metric(object({ target: { type: 'Value', value: '0' } })),
    'target.value: Invalid value: "0": must be positive',
  ],
  [
    metric(object({ describedObject: { kind: '', name: 'x' } })),
    'describedObject.kind: Required value',
  ],
  [
    metric(external({ type: 'Value' })),
    'must set either a target value for metric or a per-pod target',
  ],
  [
    metric(external({ type: 'Value', value: '1', averageValue: '1' })),
    'may not set both a target value for metric and a per-pod target',
  ],
  [
    metric({ type: 'Pods', pods: { ...pods.pods, target: { type: 'Value', value: '1' } } }),
    'must specify a positive target averageValue',
  ],
  [
    metric({
      type: 'Pods',
      pods: { ...pods.pods, target: { type: 'AverageValue', averageValue: '-1' } },
    }),
    'must be positive',
  ],
  [metric(container({ container: '' })), 'must specify a container'],
  [
    metric(container({ container: 'A' })),
    'spec.metrics[0].containerResource.container: Invalid value: "A"',
  ],
  [metric(container({ name: '' })), 'must specify a resource name'],
  [
    metric(container({ target: { type: 'Utilization' } })),
    'must set either a target raw value or a target utilization',
  ],
  [
    metric(
      container({ target: { type: 'Utilization', averageUtilization: 1, averageValue: '1' } }),
    ),
    'may not set both a target raw value and a target utilization',
  ],
  [
    metric(container({ target: { type: 'Utilization', averageUtilization: 0 } })),
    'must be greater than 0',
  ],
  [up({ stabilizationWindowSeconds: -1 }), 'must be greater than or equal to zero'],
  [up({ stabilizationWindowSeconds: 3601 }), 'must be less than or equal to 3600'],
  [
    up({ selectPolicy: 'Odd' }),
    'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Odd": supported values: "Disabled", "Max", "Min"',
  ],
  [
    up({ policies: [{ type: 'Odd', value: 1, periodSeconds: 1 }] }),
    'policies[0].type: Unsupported value: "Odd"',
  ],
  [
    up({ policies: [{ type: 'Pods', value: 0, periodSeconds: 1 }] }),
    'policies[0].value: Invalid value: 0: must be greater than zero',
  ],
  [
    up({ policies: [{ type: 'Pods', value: 1, periodSeconds: 0 }] }),
    'policies[0].periodSeconds: Invalid value: 0',
  ],
  [
    up({ policies: [{ type: 'Pods', value: 1, periodSeconds: 1801 }] }),
    'must be less than or equal to 1800',
  ],
  [
    up({ tolerance: '-1' }),
    'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0',
  ],
])('%j is rejected', async (spec, why) => {
  const text = outcome(await api.post(V2, hpa(spec)));
  expect(text).toContain('422 Invalid: HorizontalPodAutoscaler.autoscaling "a" is invalid');
  expect(text).toContain(why);
});

test.each([
  [{ metrics: [object()] }],
  [{ metrics: [external({ type: 'AverageValue', averageValue: '1' })] }],
  [{ metrics: [container({})] }],
  [{ scaleTargetRef: { kind: 'ReplicationController', name: 'r' } }],
  [{ scaleTargetRef: { apiVersion: 'v1', kind: 'ReplicationController', name: 'r' } }],
])('%j is fine', async (spec) => {
  expect(outcome(await api.post(V2, hpa(spec)))).toBe('201');
});

test('both versions have the same table', async () => {
  const metrics = [pods, external({ type: 'Value', value: '9' }), cpu];
  await api.post(V2, hpa({ metrics }));
  for (const path of [V1, V2]) {
    const { json } = await send(t.server, {
      path,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const [row] = (json as unknown as { rows: { cells: unknown[] }[] }).rows;
    const targets = '<unknown>/10, <unknown>/9 + 1 more...';
    expect(row?.cells).toEqual(['a', 'Deployment/web', targets, '1', 5, 0, '0s']);
  }
});

test('autoscalers can be applied in either version', async () => {
  const apply = (path: string, body: object) =>
    send(t.server, {
      method: 'PATCH',
      path: `${path}/a?fieldManager=me`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body,
    });
  const kind = 'HorizontalPodAutoscaler';
  expect(
    (await apply(V2, { apiVersion: 'autoscaling/v2', kind, ...hpa({ metrics: [cpu] }) })).code,
  ).toBe(201);
  const { code, json } = await apply(V1, {
    apiVersion: 'autoscaling/v1',
    kind,
    ...hpa({ maxReplicas: 7 }),
  });
  expect([code, json.spec]).toMatchObject([200, { maxReplicas: 7 }]);
});

test('objects that are stored in the first version are served, applied to, and migrated', async () => {
  const apply = (path: string, manager: string, spec: object, version: string) =>
    send(t.server, {
      method: 'PATCH',
      path: `${path}?fieldManager=${manager}`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: {
        apiVersion: `autoscaling/${version}`,
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'a' },
        spec,
      },
    });
  expect(
    (
      await apply(
        `${V1}/a`,
        'one',
        { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 30 },
        'v1',
      )
    ).code,
  ).toBe(201);
  expect((await api.post(V2, { ...hpa(), metadata: { name: 'b' } })).code).toBe(201);

  // Stores the object as an older server would have done.
  const key = '/registry/horizontalpodautoscalers/default/a';
  const old = (await api.get(`${V1}/a`)).json as unknown as KubeObject;
  const value = new ObjectFormat('autoscaling/v1', 'HorizontalPodAutoscaler').encode(old);
  await t.storage.guaranteedUpdate(key, () => ({ action: 'put', value }));
  await t.server.stop();
  t = await startTestServer({ storage: t.storage, clock: t.clock });
  api = new Api(t);
  const isStoredIn = async (version: string): Promise<boolean> =>
    Buffer.from((await t.storage.get(key))?.value ?? []).includes(
      `"apiVersion":"autoscaling/${version}","metadata"`,
    );
  expect(await isStoredIn('v1')).toBe(true);

  const target = { type: 'Utilization', averageUtilization: 30 };
  const list = await api.get(V2);
  expect(list.json.items).toMatchObject([
    { metadata: { name: 'a' }, spec: { metrics: [{ resource: { target } }] } },
    { metadata: { name: 'b' }, spec: { metrics: [cpu] } },
  ]);
  expect((await api.get(`${V1}?limit=1`)).json.items).toMatchObject([
    { spec: { targetCPUUtilizationPercentage: 30 } },
  ]);

  // Owners of fields in the first version own them in the second.
  const metrics = [
    { type: 'Resource', resource: { name: 'cpu', target: { ...target, averageUtilization: 60 } } },
  ];
  const conflict = await apply(`${V2}/a`, 'two', { scaleTargetRef, maxReplicas: 5, metrics }, 'v2');
  expect(outcome(conflict)).toContain(
    '409 Conflict: Apply failed with 1 conflict: conflict with "one"',
  );
  expect(await isStoredIn('v1')).toBe(true);
  const same = await apply(
    `${V1}/a`,
    'one',
    { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 30 },
    'v1',
  );
  expect(same.json.spec).toMatchObject({ maxReplicas: 5, targetCPUUtilizationPercentage: 30 });
  expect(await isStoredIn('v2')).toBe(true);
  expect(Number(same.json.metadata.resourceVersion)).toBeGreaterThan(
    Number(old.metadata.resourceVersion),
  );
  expect((await api.get(`${V2}/a`)).json.spec).toMatchObject({
    metrics: [{ resource: { target } }],
  });
  expect((await api.delete(`${V1}/a`)).code).toBe(200);
});
