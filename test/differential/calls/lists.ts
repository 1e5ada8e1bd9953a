// Lists, watches and deletions of collections: selectors, pages, revisions, bookmarks.

import {
  APPS,
  type Call,
  configMap,
  CORE,
  deployment,
  get,
  patch,
  pod,
  post,
  put,
  remove,
} from './call.ts';

const L = `${CORE}/configmaps`;
const SET = 'labelSelector=set%3Dls';
const labelled = (name: string, index: number): object =>
  configMap(name, { metadata: { name, labels: { set: 'ls', parity: String(index % 2), name } } });
const NAMES = ['ls-a', 'ls-b', 'ls-c', 'ls-d', 'ls-e'];

const REVISIONS = ['', '&resourceVersion=', '&resourceVersion=0', '&resourceVersion={rv}'];
const MATCHES = [
  '',
  '&resourceVersionMatch=Exact',
  '&resourceVersionMatch=NotOlderThan',
  '&resourceVersionMatch=x',
];

const listMatrix: readonly Call[] = ['', '&limit=2'].flatMap((limit) =>
  REVISIONS.flatMap((revision) =>
    MATCHES.map((match) => get(`${L}?${SET}${limit}${revision}${match}`)),
  ),
);

const watchMatrix: readonly Call[] = [
  '',
  '&sendInitialEvents=true',
  '&sendInitialEvents=false',
].flatMap((initial) =>
  ['', '&resourceVersion=0', '&resourceVersion={rv}'].flatMap((revision) =>
    ['', '&resourceVersionMatch=NotOlderThan', '&resourceVersionMatch=Exact'].flatMap((match) =>
      ['', '&allowWatchBookmarks=true'].map((bookmarks) =>
        get(`${L}?watch=1&timeoutSeconds=1&${SET}${initial}${revision}${match}${bookmarks}`),
      ),
    ),
  ),
);

const pages: readonly Call[] = [
  get(`${L}?${SET}&limit=2`),
  get(`${L}?${SET}&limit=2&continue={continue}`),
  get(`${L}?${SET}&limit=2&continue={continue}`),
  get(`${L}?limit=3&${SET}`),
  get(`${L}?limit=0&continue={continue}&${SET}`),
  get(`${L}?${SET}&limit=2`),
  get(`${L}?${SET}&continue={continue}&resourceVersion=1`),
  get(`${L}?${SET}&limit=2`),
  get(`${L}?${SET}&continue={continue}&resourceVersionMatch=Exact`),
  get(`${L}?continue=bm9uc2Vuc2U`),
  get(`${L}?continue=%25%25`),
  get(`${L}?continue=e30`),
  get(`${L}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`),
  get(`${L}?resourceVersion=999999999&resourceVersionMatch=Exact`),
  get(`${L}?resourceVersion=1&resourceVersionMatch=Exact&limit=1`),
  get(`${L}/ls-a?resourceVersion=999999999`),
  get(`${L}?watch=1&timeoutSeconds=1&resourceVersion=999999999`),
  get(`${L}?watch=1&timeoutSeconds=1&resourceVersion=1`),
];

const SELECTORS = [
  'labelSelector=parity',
  'labelSelector=%21parity,set',
  'labelSelector=parity%3D0',
  'labelSelector=parity%3D%3D0',
  'labelSelector=parity%21%3D0,set%3Dls',
  'labelSelector=name+in+(ls-a,ls-b)',
  'labelSelector=name+notin+(ls-a,ls-b),set',
  'labelSelector=name+in+()',
  'labelSelector=name+in',
  'labelSelector=parity%3E0',
  'labelSelector=parity%3C1,set',
  'labelSelector=parity%3Ex',
  'labelSelector=,',
  'labelSelector=a%3D%22b%22',
  'labelSelector=-a%3Db',
  `labelSelector=${'a'.repeat(64)}%3Db`,
  `labelSelector=a%3D${'b'.repeat(64)}`,
  'labelSelector=%21',
  'labelSelector=a+b',
  'labelSelector=a%3Db,a%3Dc',
  'labelSelector=example.com%2Fa%3Db',
  'fieldSelector=metadata.name%3Dls-a',
  'fieldSelector=metadata.name%3D%3Dls-a',
  'fieldSelector=metadata.name%21%3Dls-a&labelSelector=set',
  'fieldSelector=metadata.name%3Dls-a,metadata.name%3Dls-b',
  'fieldSelector=metadata.namespace%3Dother',
  'fieldSelector=metadata.labels%3Dother',
  'fieldSelector=none%3Da',
  'fieldSelector=none',
  'fieldSelector=%3Da',
  'fieldSelector=,',
  'fieldSelector=metadata.name%3Da%5C,b',
  'fieldSelector=metadata.name%3Da%5Cb',
  'fieldSelector=metadata.name%3Ea',
  'fieldSelector=metadata.name+in+(a)',
];

/** The fields that each kind selects, and one that it does not. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  '/api/v1/pods': [
    'spec.nodeName%3D',
    'spec.restartPolicy%3DAlways',
    'spec.schedulerName%3Ddefault-scheduler',
    'spec.serviceAccountName%3D',
    'spec.hostNetwork%3Dtrue',
    'status.phase%3DPending',
    'status.phase%21%3DPending',
    'status.podIP%3D',
    'status.podIPs%3D',
    'status.nominatedNodeName%3D',
    'status.qosClass%3DBestEffort',
    'spec.containers%3D',
  ],
  '/api/v1/nodes': ['spec.unschedulable%3Dfalse', 'spec.podCIDR%3D', 'metadata.namespace%3D'],
  '/api/v1/namespaces': ['status.phase%3DTerminating', 'metadata.name%3Ddefault', 'name%3Ddefault'],
  '/api/v1/secrets': ['type%3DOpaque', 'data%3D'],
  '/api/v1/services': ['spec.clusterIP%3DNone', 'spec.type%3DNodePort', 'spec.ports%3D'],
  '/api/v1/replicationcontrollers': ['status.replicas%3D1', 'spec.replicas%3D1'],
  '/api/v1/persistentvolumes': ['name%3Da', 'metadata.name%3Da', 'spec.capacity%3D'],
  '/api/v1/persistentvolumeclaims': ['name%3Da', 'metadata.name%3Da', 'spec.storageClassName%3D'],
  '/api/v1/events': [
    'involvedObject.kind%3DPod',
    'reason%3Da',
    'reportingComponent%3Da',
    'source%3Da',
    'count%3D1',
  ],
  '/apis/events.k8s.io/v1/events': [
    'regarding.kind%3DPod',
    'reason%3Da',
    'reportingController%3Da',
    'note%3Da',
  ],
  '/apis/apps/v1/replicasets': ['status.replicas%3D1', 'spec.replicas%3D1'],
  '/apis/apps/v1/deployments': ['metadata.name%3Da', 'status.replicas%3D1'],
  '/apis/batch/v1/jobs': ['status.successful%3D1', 'status.succeeded%3D1'],
  '/apis/batch/v1/cronjobs': ['metadata.name%3Da', 'spec.suspend%3Dtrue'],
  '/apis/certificates.k8s.io/v1/certificatesigningrequests': [
    'spec.signerName%3Da',
    'spec.username%3Da',
  ],
  '/apis/resource.k8s.io/v1/resourceslices': [
    'spec.nodeName%3Da',
    'spec.driver%3Da',
    'spec.pool%3Da',
  ],
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': [
    'metadata.name%3Da',
    'spec.group%3Da',
  ],
  '/apis/rbac.authorization.k8s.io/v1/clusterroles': ['metadata.name%3Dadmin', 'rules%3D'],
};

const fieldCalls: readonly Call[] = Object.entries(FIELDS).flatMap(([path, fields]) =>
  fields.map((field): Call => {
    const call = get(`${path}?fieldSelector=${field}`);
    // Upstream's own objects would be found, too.
    return /namespaces|events|services|clusterroles/.test(path) ? { ...call, part: kindOf } : call;
  }),
);

function kindOf(body: unknown): unknown {
  return (body as { readonly kind?: unknown }).kind;
}

const collections: readonly Call[] = [
  remove(`${L}?labelSelector=name%3Dls-a&dryRun=All`),
  remove(`${L}?labelSelector=name%3Dls-a`, { dryRun: ['All'] }),
  remove(`${L}?labelSelector=name%3Dls-a`, { preconditions: { uid: 'x' } }),
  remove(`${L}?labelSelector=name%3Dls-a`, { preconditions: { resourceVersion: '1' } }),
  remove(`${L}?fieldSelector=metadata.name%3Dls-a&gracePeriodSeconds=0`),
  remove(`${L}?labelSelector=name%3Dls-b`, { propagationPolicy: 'Foreground' }),
  patch(`${L}/ls-b`, { metadata: { finalizers: null } }),
  remove(`${L}?${SET}&limit=1`),
  remove(`${L}?${SET}&timeoutSeconds=x`),
  remove(`${L}?${SET}&propagationPolicy=Wrong`),
  remove(`${L}?${SET}`, { propagationPolicy: 'Background', orphanDependents: true }),
  remove(`${L}?${SET}`, { gracePeriodSeconds: -1 }),
  remove(`${L}?${SET}`, { kind: 'DeleteOptions', apiVersion: 'apps/v1' }),
  remove(`${L}?${SET}`, { kind: 'Other', apiVersion: 'meta.k8s.io/v1' }),
  remove(`${L}?${SET}`, '[]'),
  remove(`${L}?${SET}`, '{"kind":1}'),
  remove(`${L}?${SET}`, '{"dryRun":"All"}'),
  remove(`${L}?labelSelector=!`),
  remove(`${L}?fieldSelector=x%3Dy`),
  remove(`${L}?${SET}`),
  get(`${L}?${SET}`),
  remove('/api/v1/configmaps'),
  remove('/api/v1/namespaces'),
  remove(`${CORE}/services?labelSelector=none%3Dthere`),
  remove(`${CORE}/pods?labelSelector=none%3Dthere`),
  remove(`${APPS}/deployments?labelSelector=none%3Dthere`),
];

const deletions: readonly Call[] = [
  post(`${CORE}/pods`, pod('del', { terminationGracePeriodSeconds: 30, nodeName: 'n' })),
  remove(`${CORE}/pods/del?dryRun=All`),
  remove(`${CORE}/pods/del`, { preconditions: { uid: 'x' } }),
  remove(`${CORE}/pods/del`, { preconditions: { uid: '{uid}', resourceVersion: '1' } }),
  remove(`${CORE}/pods/del?propagationPolicy=x`),
  remove(`${CORE}/pods/del?gracePeriodSeconds=x`),
  remove(`${CORE}/pods/del?orphanDependents=true&propagationPolicy=Orphan`),
  remove(`${CORE}/pods/del?gracePeriodSeconds=20`),
  remove(`${CORE}/pods/del?gracePeriodSeconds=50`),
  remove(`${CORE}/pods/del?gracePeriodSeconds=5`),
  patch(`${CORE}/pods/del`, { metadata: { finalizers: ['example.com/a'] } }),
  get(`${CORE}/pods/del`),
  remove(`${CORE}/pods/del?gracePeriodSeconds=0`),
  remove(`${CORE}/pods/del`),
  post(`${APPS}/deployments`, deployment('del')),
  remove(`${APPS}/deployments/del?propagationPolicy=Foreground&dryRun=All`),
  remove(`${APPS}/deployments/del?propagationPolicy=Foreground`),
  remove(`${APPS}/deployments/del?propagationPolicy=Orphan`),
  remove(`${APPS}/deployments/del?propagationPolicy=Background`),
  put(`${APPS}/deployments/del`, deployment('del')),
  patch(`${APPS}/deployments/del`, {
    metadata: { finalizers: ['foregroundDeletion', 'new.example.com/x'] },
  }),
  patch(`${APPS}/deployments/del`, { metadata: { finalizers: [] } }),
  get(`${APPS}/deployments/del`),
];

export const listCalls: readonly Call[] = [
  ...NAMES.map((name, index) => post(L, labelled(name, index))),
  get(`${L}?${SET}`),
  ...listMatrix,
  ...watchMatrix,
  ...pages,
  ...SELECTORS.map((selector) => get(`${L}?${selector}`)),
  ...SELECTORS.filter((_, index) => index % 4 === 0).map((selector) =>
    get(`${L}?watch=1&timeoutSeconds=1&${selector}`),
  ),
  ...fieldCalls,
  get(`/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1&${SET}`),
  get(`/api/v1/watch/namespaces/default/configmaps/ls-a?timeoutSeconds=1`),
  get(`${L}/ls-a?watch=1&timeoutSeconds=1`),
  get(`${L}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dls-a`),
  get(`${L}?watch=0&${SET}`),
  get(`${L}?watch=&timeoutSeconds=1&${SET}`),
  ...collections,
  ...deletions,
];
