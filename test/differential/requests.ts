// Requests about everything but the validation of objects: reads, lists, patches, deletes, and
// subresources. Each runs on both servers, in this order, from the same state.

import type { Shot } from './shots.ts';

const JSON_TYPE = 'application/json';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';

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
  body: typeof body === 'string' ? body : JSON.stringify(body),
  changes: [type, typeof body === 'string' ? body : JSON.stringify(body)],
});

const CORE = '/api/v1/namespaces/default';
const APPS = '/apis/apps/v1/namespaces/default';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

const configMap = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { set: 'list', name } },
  data: { a: 'b' },
  ...more,
});
const template = {
  metadata: { labels: { app: 'd' } },
  spec: { containers: [{ name: 'c', image: 'busybox', ports: [{ containerPort: 80 }] }] },
};
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: { replicas: 2, selector: { matchLabels: { app: 'd' } }, template },
};
const pod = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'p' } },
  spec: {
    containers: [{ name: 'c', image: 'busybox', env: [{ name: 'A', value: 'b' }] }],
    terminationGracePeriodSeconds: 0,
  },
});

const LIST = `${CORE}/configmaps?labelSelector=set%3Dlist`;

/** The requests delete every object that they create. */
export const requests: readonly Shot[] = [
  send('DELETE', `${CORE}/configmaps`, ''),
  // Lists
  ...['a', 'b', 'c', 'd', 'e'].map((name) =>
    send('POST', `${CORE}/configmaps`, configMap(`list-${name}`)),
  ),
  send('POST', `${CORE}/configmaps`, configMap('list-a')),
  get(LIST),
  get(`${LIST}&limit=2`),
  get(`${LIST}&limit=0`),
  get(`${LIST}&limit=-1`),
  get(`${LIST}&limit=a`),
  get(`${LIST}&continue=nonsense`),
  get(`${LIST}&resourceVersion=0`),
  get(`${LIST}&resourceVersion=a`),
  get(`${LIST}&resourceVersion=-1`),
  get(`${LIST}&resourceVersionMatch=Exact`),
  get(`${LIST}&resourceVersionMatch=Wrong&resourceVersion=1`),
  get(`${LIST}&resourceVersionMatch=Exact&resourceVersion=0`),
  get(`${LIST}&resourceVersionMatch=NotOlderThan`),
  get(`${LIST}&resourceVersionMatch=NotOlderThan&resourceVersion=0`),
  get(`${LIST}&sendInitialEvents=true`),
  get(`${LIST}&watch=maybe&timeoutSeconds=1`),
  get(`${LIST}&watch=1&timeoutSeconds=a&resourceVersion=a`),
  get(`${LIST}&watch=1&timeoutSeconds=1&resourceVersion=a`),
  get(`${LIST}&watch=1&timeoutSeconds=1&sendInitialEvents=true`),
  get(`${LIST}&watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=Exact`),
  get(`${LIST}&watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan`),
  get(`${LIST}&watch=1&timeoutSeconds=1&continue=x`),
  get(`${CORE}/configmaps?labelSelector=name+in+(list-a,list-b)`),
  get(`${CORE}/configmaps?labelSelector=name+notin+(list-a),set`),
  get(`${CORE}/configmaps?labelSelector=%21set`),
  get(`${CORE}/configmaps?labelSelector=a+in+(`),
  get(`${CORE}/configmaps?labelSelector=a%3D%3D%3Db`),
  get(`${CORE}/configmaps?labelSelector=A%2FB%2FC%3Db`),
  get(`${CORE}/configmaps?labelSelector=a%3Ex`),
  get(`${CORE}/configmaps?fieldSelector=metadata.name%3Dlist-a`),
  get(
    `${CORE}/configmaps?fieldSelector=metadata.name%21%3Dlist-a,metadata.namespace%3Ddefault&labelSelector=set`,
  ),
  get(`${CORE}/configmaps?fieldSelector=data.a%3Db`),
  get(`${CORE}/configmaps?fieldSelector=metadata.name`),
  get(`/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault&labelSelector=set`),
  get(
    '/api/v1/pods?fieldSelector=spec.nodeName%3D,status.phase%3DPending,' +
      'spec.restartPolicy%3DAlways,spec.hostNetwork%3Dfalse',
  ),
  get(`/api/v1/pods?fieldSelector=spec.nothing%3D`),
  get(LIST, TABLE),
  get(LIST, `${TABLE},application/json`),
  get(`${LIST}&includeObject=None`, TABLE),
  get(`${LIST}&includeObject=Object`, TABLE),
  get(`${LIST}&includeObject=Wrong`, TABLE),
  get(LIST, PARTIAL_LIST),
  get(LIST, PARTIAL),
  get(`${CORE}/configmaps/list-a`, TABLE),
  get(`${CORE}/configmaps/list-a`, PARTIAL),
  get(`${CORE}/configmaps/list-a`, PARTIAL_LIST),
  get(`${CORE}/configmaps/list-a`, 'application/json;as=Table;v=v2;g=meta.k8s.io'),
  get(`${CORE}/configmaps/list-a`, 'text/plain'),
  get(`${CORE}/configmaps/list-a`, 'application/yaml;as=Table;v=v1;g=meta.k8s.io,application/json'),
  get(`${CORE}/configmaps/list-a?resourceVersion=a`),
  get(`${CORE}/configmaps/list-a?resourceVersion=0`),
  get(`${CORE}/configmaps/missing`),
  get(`${CORE}/nobodies`),
  get(`${CORE}/nobodies/it`),
  get(`/apis/other.example.com/v1/things`),
  get(`/apis/apps/v2/deployments`),
  get('/api/v2'),
  get('/api/v1/namespaces/missing/configmaps'),
  get('/api/v1/namespaces/missing'),
  get('/healthz'),
  get('/readyz?verbose=1&exclude=missing'),
  get('/livez/ping'),
  get('/livez/missing'),
  get('/missing'),
  send('POST', `${CORE}/configmaps/list-a`, configMap('list-a')),
  send('PUT', `${CORE}/configmaps`, configMap('list-a')),
  send('PATCH', `${CORE}/configmaps`, {}, MERGE),
  send('DELETE', '/api/v1/configmaps', ''),
  send('POST', '/api/v1/configmaps', configMap('it')),
  send('OPTIONS', `${CORE}/configmaps`, ''),
  // Writes
  send('POST', `${CORE}/configmaps`, 'not json'),
  send('POST', `${CORE}/configmaps`, ''),
  send('POST', `${CORE}/configmaps`, '[]'),
  send('POST', `${CORE}/configmaps`, '{}'),
  send('POST', `${CORE}/configmaps`, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'it' },
  }),
  send('POST', `${CORE}/configmaps`, {
    apiVersion: 'v2',
    kind: 'ConfigMap',
    metadata: { name: 'it' },
  }),
  send('POST', `${CORE}/configmaps`, {
    apiVersion: 'a/b/c',
    kind: 'ConfigMap',
    metadata: { name: 'it' },
  }),
  send('POST', `${CORE}/configmaps`, { kind: 'ConfigMap', metadata: { name: 'it' } }),
  send('POST', `${CORE}/configmaps`, configMap('it', { data: { a: 1 } })),
  send('POST', `${CORE}/configmaps`, configMap('it', { data: [] })),
  send('POST', `${CORE}/configmaps`, configMap('it', { immutable: 'yes' })),
  send('POST', `${CORE}/configmaps`, configMap('it', { binaryData: { a: '!' } })),
  send('POST', `${CORE}/configmaps`, configMap('it'), 'text/plain'),
  send('POST', `${CORE}/configmaps`, configMap('it'), 'application/nonsense'),
  send('POST', `${CORE}/configmaps?dryRun=Some`, configMap('it')),
  send('POST', `${CORE}/configmaps?dryRun=All&fieldValidation=Wrong`, configMap('it')),
  send('POST', `${CORE}/configmaps?dryRun=All&fieldManager=${'x'.repeat(129)}`, configMap('it')),
  send('POST', `${CORE}/configmaps?dryRun=All&fieldManager=a%0Ab`, configMap('it')),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All&fieldValidation=Strict`,
    configMap('it', { nothing: 1, spec: { a: 1 } }),
  ),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All&fieldValidation=Warn`,
    configMap('it', { nothing: 1, spec: { a: 1 } }),
  ),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All&fieldValidation=Ignore`,
    configMap('it', { nothing: 1 }),
  ),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All&fieldValidation=Strict`,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"it","name":"it"},"data":{"a":"1","a":"2"}}',
  ),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All&fieldValidation=Warn`,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"it","name":"it"},"data":{"a":"1","a":"2"}}',
  ),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All&fieldValidation=Strict`,
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: it\n  name: it\n',
    'application/yaml',
  ),
  send(
    'POST',
    `${CORE}/configmaps?dryRun=All`,
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\ndata: {a: yes}\n',
    'application/yaml',
  ),
  send('POST', `${CORE}/configmaps?dryRun=All`, 'a: b: c\n', 'application/yaml'),
  send('POST', `${CORE}/configmaps?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'it', namespace: 'other' },
  }),
  send('POST', `${CORE}/configmaps?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {},
  }),
  send('POST', `${CORE}/configmaps?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'A B' },
  }),
  send('POST', `${CORE}/configmaps?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'it', resourceVersion: '1' },
  }),
  send('POST', '/api/v1/namespaces/missing/configmaps', configMap('it')),
  send('PUT', `${CORE}/configmaps/list-a`, configMap('list-b')),
  send('PUT', `${CORE}/configmaps/list-a`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'list-a', resourceVersion: '1' },
  }),
  send('PUT', `${CORE}/configmaps/list-a`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'list-a', resourceVersion: 'a' },
  }),
  send('PUT', `${CORE}/configmaps/list-a`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'list-a', uid: 'wrong' },
  }),
  send('PUT', `${CORE}/configmaps/list-a`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'list-a' },
    immutable: true,
    data: { x: 'y' },
  }),
  send('PUT', `${CORE}/configmaps/list-a`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'list-a' },
    immutable: false,
    data: { x: 'z' },
  }),
  send('PUT', `${CORE}/configmaps/missing`, configMap('missing')),
  // Patches
  send('PATCH', `${CORE}/configmaps/list-b`, { data: { a: null, n: 'm' } }, MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, { data: null }, MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, 'x', MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, '[]', MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, { metadata: { name: 'other' } }, MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, { metadata: { resourceVersion: '1' } }, MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, { kind: 'Secret' }, MERGE),
  send('PATCH', `${CORE}/configmaps/list-b`, {}, 'application/nonsense'),
  send('PATCH', `${CORE}/configmaps/missing`, {}, MERGE),
  send('PATCH', `${CORE}/configmaps/list-b?fieldValidation=Strict`, { nothing: 1 }, MERGE),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldValidation=Strict`,
    '{"data":{"a":"1","a":"2"}}',
    MERGE,
  ),
  send('PATCH', `${CORE}/configmaps/list-b?force=true`, {}, MERGE),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b`,
    [{ op: 'add', path: '/data', value: { a: 'b' } }],
    JSON_PATCH,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b`,
    [{ op: 'replace', path: '/data/x', value: 'b' }],
    JSON_PATCH,
  ),
  send('PATCH', `${CORE}/configmaps/list-b`, [{ op: 'remove', path: '/nothing/x' }], JSON_PATCH),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b`,
    [{ op: 'test', path: '/data/a', value: 'wrong' }],
    JSON_PATCH,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b`,
    [{ op: 'spam', path: '/data/a', value: 'wrong' }],
    JSON_PATCH,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b`,
    [
      { op: 'move', from: '/data/a', path: '/data/b' },
      { op: 'copy', from: '/data/b', path: '/data/c' },
    ],
    JSON_PATCH,
  ),
  send('PATCH', `${CORE}/configmaps/list-b`, {}, JSON_PATCH),
  send('PATCH', `${CORE}/configmaps/list-b`, 'x', JSON_PATCH),
  send('PATCH', `${CORE}/configmaps/list-b`, [{ op: 'add', path: '/spec', value: 1 }], JSON_PATCH),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=a`,
    configMap('list-b', { data: { s: 't' } }),
    APPLY,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=b`,
    configMap('list-b', { data: { s: 'u' } }),
    APPLY,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=b&force=true`,
    configMap('list-b', { data: { s: 'u' } }),
    APPLY,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=a`,
    configMap('list-b', { data: {} }),
    APPLY,
  ),
  send('PATCH', `${CORE}/configmaps/list-b`, configMap('list-b'), APPLY),
  send('PATCH', `${CORE}/configmaps/list-b?fieldManager=a&force=maybe`, configMap('list-b'), APPLY),
  send('PATCH', `${CORE}/configmaps/list-b?fieldManager=a`, configMap('list-c'), APPLY),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=a`,
    { metadata: { name: 'list-b' } },
    APPLY,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=a`,
    configMap('list-b', { nothing: 1 }),
    APPLY,
  ),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=a`,
    configMap('list-b', { data: 1 }),
    APPLY,
  ),
  send('PATCH', `${CORE}/configmaps/list-b?fieldManager=a`, 'x: [', APPLY),
  send(
    'PATCH',
    `${CORE}/configmaps/list-b?fieldManager=a`,
    configMap('list-b', { metadata: { name: 'list-b', managedFields: [] } }),
    APPLY,
  ),
  send('PATCH', `${CORE}/configmaps/list-new?fieldManager=a`, configMap('list-new'), APPLY),
  send(
    'PATCH',
    `${CORE}/configmaps/list-new?fieldManager=a`,
    { ...configMap('list-new'), metadata: { name: 'list-new', uid: 'wrong' } },
    APPLY,
  ),
  // Strategic merge
  send('POST', `${APPS}/deployments`, deployment),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { template: { spec: { containers: [{ name: 'e', image: 'x' }] } } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { template: { spec: { containers: [{ name: 'e', $patch: 'delete' }] } } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { template: { spec: { $setElementOrder: 1 } } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    {
      spec: {
        template: {
          spec: {
            '$setElementOrder/containers': [{ name: 'z' }, { name: 'c' }],
            containers: [{ name: 'z', image: 'z' }],
          },
        },
      },
    },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { strategy: { $patch: 'replace', type: 'Recreate' } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    {
      spec: { template: { spec: { containers: [{ name: 'c', ports: [{ containerPort: 81 }] }] } } },
    },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    {
      spec: {
        template: {
          spec: { containers: [{ name: 'c', ports: [{ containerPort: 81, $patch: 'delete' }] }] },
        },
      },
    },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    {
      metadata: {
        finalizers: ['example.com/a'],
        '$deleteFromPrimitiveList/finalizers': ['example.com/b'],
      },
    },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { template: { spec: { containers: [{ image: 'x' }] } } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { template: { spec: { containers: [{ name: 'c', $patch: 'wrong' }] } } } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { spec: { selector: { matchLabels: { app: 'other' } } } },
    STRATEGIC,
  ),
  send('PATCH', `${APPS}/deployments/d`, { spec: { replicas: 'a' } }, STRATEGIC),
  send('PATCH', `${APPS}/deployments/d`, { spec: { replicas: -1 } }, STRATEGIC),
  // Scale and status
  get(`${APPS}/deployments/d/scale`),
  send('PUT', `${APPS}/deployments/d/scale`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'd' },
    spec: { replicas: 5 },
  }),
  send('PUT', `${APPS}/deployments/d/scale`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'd' },
    spec: { replicas: -5 },
  }),
  send('PUT', `${APPS}/deployments/d/scale`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'x' },
    spec: { replicas: 5 },
  }),
  send('PATCH', `${APPS}/deployments/d/scale`, { spec: { replicas: 1 } }, MERGE),
  send(
    'PATCH',
    `${APPS}/deployments/d/scale?fieldManager=s`,
    { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 7 } },
    APPLY,
  ),
  send('PATCH', `${APPS}/deployments/missing/scale`, { spec: { replicas: 1 } }, MERGE),
  send(
    'PATCH',
    `${APPS}/deployments/d/status`,
    {
      status: { replicas: 3, observedGeneration: 4 },
      spec: { replicas: 9 },
      metadata: { labels: { a: 'b' } },
    },
    MERGE,
  ),
  send('PUT', `${APPS}/deployments/d/status`, { ...deployment, status: { replicas: -1 } }),
  get(`${APPS}/deployments/d`, TABLE),
  send('DELETE', `${APPS}/deployments/d?propagationPolicy=Wrong`, ''),
  send('DELETE', `${APPS}/deployments/d`, {
    propagationPolicy: 'Foreground',
    orphanDependents: true,
  }),
  send('DELETE', `${APPS}/deployments/d`, { preconditions: { uid: 'wrong' } }),
  send('DELETE', `${APPS}/deployments/d`, { preconditions: { resourceVersion: '1' } }),
  send('DELETE', `${APPS}/deployments/d`, { gracePeriodSeconds: -1 }),
  send('DELETE', `${APPS}/deployments/d`, { nothing: 1 }),
  send('DELETE', `${APPS}/deployments/d`, 'x'),
  send('DELETE', `${APPS}/deployments/d`, { kind: 'ConfigMap', apiVersion: 'v1' }),
  send('DELETE', `${APPS}/deployments/d?dryRun=All`, ''),
  send('DELETE', `${APPS}/deployments/d?propagationPolicy=Foreground`, ''),
  get(`${APPS}/deployments/d`),
  send(
    'PATCH',
    `${APPS}/deployments/d`,
    { metadata: { finalizers: ['example.com/new', 'foregroundDeletion'] } },
    MERGE,
  ),
  send('PATCH', `${APPS}/deployments/d`, { metadata: { finalizers: null } }, MERGE),
  get(`${APPS}/deployments/d`),
  // Pods
  send('POST', `${CORE}/pods`, pod('p')),
  get(`${CORE}/pods/p`, TABLE),
  send('POST', `${CORE}/pods/p/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'p' },
    target: { kind: 'Node', name: 'n' },
  }),
  send('POST', `${CORE}/pods/p/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'p' },
    target: { kind: 'Node', name: 'n' },
  }),
  send('POST', `${CORE}/pods/p/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'p' },
    target: { kind: 'Wrong', name: 'n' },
  }),
  send('POST', `${CORE}/pods/missing/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'missing' },
    target: { name: 'n' },
  }),
  send(
    'PATCH',
    `${CORE}/pods/p`,
    { spec: { containers: [{ name: 'c', image: 'other' }] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${CORE}/pods/p/ephemeralcontainers`,
    { spec: { ephemeralContainers: [{ name: 'e', image: 'busybox' }] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${CORE}/pods/p/ephemeralcontainers`,
    { spec: { ephemeralContainers: [{ name: 'c', image: 'busybox' }] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${CORE}/pods/p/resize`,
    { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${CORE}/pods/p/resize`,
    { spec: { containers: [{ name: 'c', image: 'x' }] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${CORE}/pods/p/status`,
    { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
    STRATEGIC,
  ),
  send(
    'PATCH',
    `${CORE}/pods/p/status`,
    { status: { phase: 'Running', podIPs: [{ ip: 'x' }] } },
    STRATEGIC,
  ),
  get(`${CORE}/pods/p/status`),
  get(`${CORE}/pods/p/nothing`),
  send('POST', `${CORE}/pods/p/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'q' },
  }),
  send('POST', `${CORE}/pods/missing/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'missing' },
  }),
  send('POST', `${CORE}/pods/p/eviction?dryRun=All`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'p' },
  }),
  send('POST', `${CORE}/serviceaccounts/default/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 1 },
  }),
  send('POST', `${CORE}/serviceaccounts/missing/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  }),
  send('DELETE', `${CORE}/pods/p?gracePeriodSeconds=0`, ''),
  send('DELETE', `${CORE}/pods/p`, ''),
  // Collections
  send('DELETE', `${CORE}/configmaps?labelSelector=name+in+(list-a,list-b)`, ''),
  send('DELETE', `${CORE}/configmaps?labelSelector=set%3Dlist&limit=1`, ''),
  send('DELETE', `${CORE}/configmaps?labelSelector=set%3Dlist&dryRun=All`, ''),
  send('DELETE', `${CORE}/configmaps?labelSelector=set%3Dlist`, ''),
  get(LIST),
  // Namespaces
  send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'diff' },
  }),
  send('DELETE', '/api/v1/namespaces/default', ''),
  send('DELETE', '/api/v1/namespaces/diff', ''),
  send('POST', '/api/v1/namespaces/diff/configmaps', configMap('late')),
  send('PUT', '/api/v1/namespaces/diff/finalize', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'diff' },
    spec: { finalizers: [] },
  }),
  get('/api/v1/namespaces/diff'),
  // Reviews
  send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: {},
  }),
  send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  }),
  send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  }),
  send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: {},
  }),
];
