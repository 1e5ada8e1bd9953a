// Requests about kinds that are served in several versions: each object is written in one version
// and read, changed, applied and watched in the other one. Each runs on both servers, in this
// order, from the same state.

import type { Shot } from './shots.ts';

const JSON_TYPE = 'application/json';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const get = (path: string, accept?: string): Shot => ({
  method: 'GET',
  path,
  type: '',
  body: '',
  changes: accept === undefined ? [] : [accept],
  ...(accept !== undefined && { accept }),
});

const send = (method: string, path: string, body: unknown, type = JSON_TYPE): Shot => ({
  method,
  path,
  type,
  body: JSON.stringify(body),
  changes: [type, JSON.stringify(body)],
});

const remove = (path: string): Shot => send('DELETE', path, {});

const V1 = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
const V2 = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
// Not in the namespace where upstream's server creates events of its own.
const NAMESPACE = 'kube-public';
const CORE = `/api/v1/namespaces/${NAMESPACE}/events`;
const NEWER = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
const hpaV1 = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'autoscaling/v1',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name, ...metadata },
  spec: { scaleTargetRef, maxReplicas: 5, ...spec },
});
const hpaV2 = (name: string, spec: object = {}, more: object = {}): object => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name },
  spec: { scaleTargetRef, maxReplicas: 5, ...spec },
  ...more,
});
const cpu = (averageUtilization: number): object => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});
const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
};
const external = {
  type: 'External',
  external: {
    metric: { name: 'queue', selector: { matchLabels: { a: 'b' } } },
    target: { type: 'Value', value: '30' },
  },
};
const behavior = {
  scaleDown: {
    stabilizationWindowSeconds: 60,
    policies: [{ type: 'Pods', value: 1, periodSeconds: 30 }],
    selectPolicy: 'Min',
  },
};
const conditions = [
  {
    type: 'AbleToScale',
    status: 'True',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'A',
    message: 'b',
  },
];

/** The requests delete every object that they create. */
const autoscalers: readonly Shot[] = [
  send('POST', V1, hpaV1('one', { targetCPUUtilizationPercentage: 50 })),
  send(
    'POST',
    V2,
    hpaV2('two', { minReplicas: 2, metrics: [cpu(70), memory, external], behavior }),
  ),
  send('POST', V2, hpaV2('none', { metrics: [] })),
  send('POST', V1, hpaV1('one', {})),
  send('POST', V1, hpaV2('wrong')),
  ...['one', 'two', 'none'].flatMap((name) => [get(`${V1}/${name}`), get(`${V2}/${name}`)]),
  get(V1),
  get(V2),
  get(V1, TABLE),
  get(V2, TABLE),
  get(`${V1}?fieldSelector=metadata.name%3Dtwo`),
  get(`${V2}?fieldSelector=spec.maxReplicas%3D5`),
  get(`${V1}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dtwo`),
  get(`${V2}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done`),
  get(
    `${V1}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  ),
  get(`${V2}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done`, TABLE),
  // A change in one version keeps the fields that only the other version has.
  send('PATCH', `${V1}/two`, { spec: { maxReplicas: 9 } }, MERGE),
  send('PATCH', `${V1}/two`, { spec: { targetCPUUtilizationPercentage: 40 } }, STRATEGIC),
  send(
    'PATCH',
    `${V1}/two`,
    [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }],
    JSON_PATCH,
  ),
  get(`${V2}/two`),
  send('PUT', `${V1}/one`, hpaV1('one', { minReplicas: 1 }, { annotations: { a: 'b' } })),
  get(`${V2}/one`),
  send('PATCH', `${V2}/one`, { spec: { metrics: [cpu(10), cpu(20)] } }, STRATEGIC),
  send('PATCH', `${V2}/one`, { spec: { metrics: [] } }, MERGE),
  get(`${V1}/one`),
  send('PUT', `${V2}/two`, hpaV2('two', { metrics: [memory] })),
  get(`${V1}/two`),
  // Owner references in both versions.
  ...[
    ['a', V2, hpaV2('ap', { minReplicas: 2, metrics: [cpu(60), memory] })],
    ['b', V1, hpaV1('ap', { targetCPUUtilizationPercentage: 60 })],
    ['b', V1, hpaV1('ap', { targetCPUUtilizationPercentage: 61 })],
    ['a', V2, hpaV2('ap', { metrics: [cpu(60)], behavior })],
    ['b', V2, hpaV2('ap', { maxReplicas: 7 })],
    ['a', V1, hpaV1('ap')],
    ['a', V2, hpaV2('ap', { metrics: [] })],
  ].flatMap(([manager, path, config]) => [
    send('PATCH', `${path as string}/ap?fieldManager=${manager as string}`, config, APPLY),
    send(
      'PATCH',
      `${path as string}/ap?fieldManager=${manager as string}&force=true`,
      config,
      APPLY,
    ),
    get(`${path === V1 ? V2 : V1}/ap`),
  ]),
  send('PATCH', `${V1}/ap?fieldManager=c`, { metadata: { annotations: { c: 'd' } } }, MERGE),
  send(
    'PATCH',
    `${V2}/ap?fieldManager=c`,
    { spec: { behavior: { scaleUp: { policies: [] } } } },
    MERGE,
  ),
  // Status.
  send(
    'PUT',
    `${V2}/ap/status`,
    hpaV2('ap', {}, { status: { currentReplicas: 1, desiredReplicas: 2, conditions } }),
  ),
  get(`${V1}/ap/status`),
  send(
    'PATCH',
    `${V1}/ap/status`,
    { status: { currentCPUUtilizationPercentage: 12, desiredReplicas: 3 } },
    MERGE,
  ),
  get(`${V2}/ap/status`),
  send(
    'PATCH',
    `${V1}/ap/status?fieldManager=s&force=true`,
    {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      status: { desiredReplicas: 4, currentReplicas: 4 },
    },
    APPLY,
  ),
  send(
    'PATCH',
    `${V2}/ap/status?fieldManager=s&force=true`,
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      status: { desiredReplicas: 5, conditions: [] },
    },
    APPLY,
  ),
  get(`${V1}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dap`),
  ...['one', 'two', 'none'].map((name, index) => remove(`${index % 2 === 0 ? V1 : V2}/${name}`)),
  send('DELETE', V1, {}),
  get(V2),
];

const involvedObject = { kind: 'Pod', namespace: NAMESPACE, name: 'p', uid: 'u', apiVersion: 'v1' };
const event = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: NAMESPACE },
  involvedObject,
  reason: 'Started',
  message: 'it started',
  type: 'Normal',
  ...more,
});
const newer = (name: string, more: object = {}): object => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name, namespace: NAMESPACE },
  eventTime: '2026-01-02T03:04:05.000006Z',
  reportingController: 'example.com/c',
  reportingInstance: 'c-1',
  action: 'Starting',
  reason: 'Started',
  regarding: involvedObject,
  note: 'it started',
  type: 'Normal',
  ...more,
});
const older = {
  source: { component: 'kubelet', host: 'n' },
  firstTimestamp: '2026-01-02T03:04:05Z',
  lastTimestamp: '2026-01-02T03:04:06Z',
  count: 2,
};
const series = { count: 2, lastObservedTime: '2026-01-02T03:04:07.000008Z' };

const events: readonly Shot[] = [
  send('POST', CORE, event('e1', older)),
  send('POST', CORE, event('e0')),
  send('POST', CORE, event('e3', { eventTime: '2026-01-02T03:04:05.000006Z' })),
  send('POST', NEWER, newer('e2', { related: { kind: 'Node', name: 'n' } })),
  send('POST', NEWER, newer('e4', { series })),
  send('POST', NEWER, newer('e5', { series: { count: 1, lastObservedTime: null } })),
  send('POST', NEWER, newer('e6', { reportingInstance: '', action: '' })),
  send('POST', NEWER, newer('e7', { deprecatedCount: 3 })),
  send('POST', NEWER, event('e8')),
  get(`${NEWER}/missing`),
  remove(`${NEWER}/missing`),
  send('PATCH', `${NEWER}/missing`, { note: 'a' }, MERGE),
  send('POST', NEWER, newer('e2')),
  send('POST', CORE, event('e2')),
  send('PATCH', `${NEWER}/e2`, { metadata: { resourceVersion: '1' } }, MERGE),
  send('DELETE', `${NEWER}/e2`, { preconditions: { uid: 'other' } }),
  ...['e0', 'e1', 'e2', 'e4'].flatMap((name) => [get(`${CORE}/${name}`), get(`${NEWER}/${name}`)]),
  get(CORE),
  get(NEWER),
  get(CORE, TABLE),
  get(NEWER, TABLE),
  ...[
    'involvedObject.name',
    'regarding.name',
    'source',
    'reportingComponent',
    'reportingController',
    'reason',
    'type',
  ].flatMap((label) => [CORE, NEWER].map((path) => get(`${path}?fieldSelector=${label}%3Dp`))),
  get(`${CORE}?fieldSelector=involvedObject.name%3Dp,reason%3DStarted&watch=1&timeoutSeconds=1`),
  get(`${NEWER}?fieldSelector=regarding.name%3Dp&watch=1&timeoutSeconds=1`),
  get(
    `${NEWER}?watch=1&timeoutSeconds=1&sendInitialEvents=true&` +
      'resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  ),
  send('PATCH', `${NEWER}/e2`, { series }, MERGE),
  send('PATCH', `${NEWER}/e2`, { note: 'other' }, MERGE),
  send('PATCH', `${CORE}/e2`, { message: 'other', count: 3 }, STRATEGIC),
  send('PATCH', `${CORE}/e1`, { count: 3, lastTimestamp: '2026-01-02T03:04:09Z' }, STRATEGIC),
  send('PATCH', `${NEWER}/e1`, { metadata: { labels: { a: 'b' } } }, MERGE),
  get(`${NEWER}/e1`),
  send('PUT', `${NEWER}/e4`, newer('e4', { series: { ...series, count: 3 } })),
  get(`${CORE}/e4`),
  ...[
    ['a', CORE, event('ap', older)],
    ['b', NEWER, newer('ap')],
    ['b', CORE, event('ap', { message: 'by b', ...older })],
    ['a', CORE, event('ap')],
    ['n', NEWER, newer('nw', { series })],
    ['m', CORE, event('nw', { message: 'by m' })],
    ['n', NEWER, newer('nw', { series: { ...series, count: 9 } })],
  ].flatMap(([manager, path, config]) => {
    const { name } = (config as { readonly metadata: { readonly name: string } }).metadata;
    return [
      send('PATCH', `${path as string}/${name}?fieldManager=${manager as string}`, config, APPLY),
      send(
        'PATCH',
        `${path as string}/${name}?fieldManager=${manager as string}&force=true`,
        config,
        APPLY,
      ),
      get(`${path === CORE ? NEWER : CORE}/${name}`),
    ];
  }),
  remove(`${CORE}/e2`),
  remove(`${NEWER}/e1`),
  send('DELETE', NEWER, {}),
  get(CORE),
];

export const versionRequests: readonly Shot[] = [...autoscalers, ...events];
