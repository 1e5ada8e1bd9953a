// Quotas and limits together: what a pod counts with defaults of a LimitRange, scopes, kinds of
// objects, updates, resizes and claims.

import { type Call, configMap, get, patch, pod, podSpec, post, put, remove } from './call.ts';

const NAMESPACE = '/api/v1/namespaces/quo';
const PODS = `${NAMESPACE}/pods`;
const object = (kind: string, name: string, spec: object, apiVersion = 'v1'): object => ({
  apiVersion,
  kind,
  metadata: { name },
  spec,
});
const zeros = (hard: object): object =>
  Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));

/** A quota counts from what its status says. No controller does that here. */
const quota = (name: string, hard: object, more: object = {}): readonly Call[] => [
  post(`${NAMESPACE}/resourcequotas`, object('ResourceQuota', name, { hard, ...more })),
  patch(`${NAMESPACE}/resourcequotas/${name}/status`, { status: { hard, used: zeros(hard) } }),
];
const removeQuota = (name: string): readonly Call[] => [
  get(`${NAMESPACE}/resourcequotas/${name}`),
  remove(`${NAMESPACE}/resourcequotas/${name}`),
];
/** A quota takes effect a moment later. */
const until = (code: number, call: Call): Call => ({ ...call, untilCode: code });

const container = (name: string, resources: object): object => ({ name, image: 'i', resources });
const sized = (resources: object, more: object = {}): object => ({
  containers: [container('c', resources)],
  ...more,
});

const limits: readonly Call[] = [
  post(
    `${NAMESPACE}/limitranges`,
    object('LimitRange', 'l', {
      limits: [
        {
          type: 'Container',
          default: { cpu: '500m', memory: '256Mi' },
          defaultRequest: { cpu: '250m' },
          min: { cpu: '100m' },
          max: { cpu: '2', memory: '1Gi' },
          maxLimitRequestRatio: { cpu: '3' },
        },
        { type: 'Pod', max: { cpu: '3' }, min: { memory: '10Mi' } },
      ],
    }),
  ),
  until(403, post(`${PODS}?dryRun=All`, pod('ready', sized({ limits: { cpu: '5' } })))),
  ...[
    {},
    { requests: { cpu: '1' } },
    { limits: { cpu: '1' } },
    { limits: { cpu: '1', memory: '2Gi' }, requests: { cpu: '200m' } },
    { limits: { memory: '5Mi' } },
    { requests: { cpu: '50m', memory: '2Gi' } },
  ].map((resources) => post(`${PODS}?dryRun=All`, pod('l', sized(resources)))),
  post(
    `${PODS}?dryRun=All`,
    pod('l', {
      initContainers: [
        { ...container('i', { limits: { cpu: '2' } }) },
        { ...container('s', { limits: { cpu: '2' } }), restartPolicy: 'Always' },
      ],
      containers: [container('c', { limits: { cpu: '2' } })],
    }),
  ),
  post(`${PODS}?dryRun=All`, pod('l', sized({}, { resources: { limits: { cpu: '4' } } }))),
  post(`${PODS}?dryRun=All`, pod('l', sized({}, { overhead: { cpu: '1' } }))),
];

const counted: readonly Call[] = [
  ...quota('c', {
    pods: '3',
    'requests.cpu': '1',
    'limits.memory': '512Mi',
    'count/pods': '3',
    'count/configmaps': '1',
  }),
  until(
    403,
    post(`${PODS}?dryRun=All`, pod('ready', sized({ limits: { cpu: '2', memory: '1Gi' } }))),
  ),
  post(PODS, pod('q1')),
  get(`${NAMESPACE}/resourcequotas/c`),
  post(`${PODS}?dryRun=All`, pod('q2')),
  post(PODS, pod('q2')),
  post(PODS, pod('q3')),
  patch(`${PODS}/q1/resize`, {
    spec: {
      containers: [{ name: 'c', image: 'busybox', resources: { requests: { cpu: '500m' } } }],
    },
  }),
  patch(
    `${PODS}/q1/resize`,
    {
      spec: {
        containers: [
          { name: 'c', resources: { requests: { cpu: '400m' }, limits: { cpu: '900m' } } },
        ],
      },
    },
    'application/strategic-merge-patch+json',
  ),
  patch(
    `${PODS}/q1/resize`,
    {
      spec: {
        containers: [
          { name: 'c', resources: { requests: { cpu: '900m' }, limits: { cpu: '900m' } } },
        ],
      },
    },
    'application/strategic-merge-patch+json',
  ),
  patch(
    `${PODS}/q1/resize`,
    { spec: { containers: [{ name: 'c', resources: { limits: { cpu: '5' } } }] } },
    'application/strategic-merge-patch+json',
  ),
  patch(`${PODS}/q1`, { metadata: { labels: { a: 'b' } } }),
  post(`${NAMESPACE}/configmaps`, configMap('a')),
  post(`${NAMESPACE}/configmaps`, configMap('b')),
  put(`${NAMESPACE}/configmaps/a`, configMap('a', { data: { c: 'd' } })),
  remove(`${PODS}/q1?gracePeriodSeconds=0`),
  remove(`${PODS}/q2?gracePeriodSeconds=0`),
  remove(`${NAMESPACE}/configmaps/a`),
  remove(`${NAMESPACE}/limitranges/l`),
  ...removeQuota('c'),
];

const scope = (scopeName: string, operator: string, values?: readonly string[]): object => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, ...(values && { values }) }] },
});
const scoped = (more: object, pods: readonly object[]): readonly Call[] => [
  ...quota('s', { pods: '0' }, more),
  until(403, post(`${PODS}?dryRun=All`, pods[0])),
  ...pods.slice(1).map((each) => post(`${PODS}?dryRun=All`, each)),
  ...removeQuota('s'),
  until(201, post(`${PODS}?dryRun=All`, pods[0])),
];
const burstable = sized({ requests: { cpu: '1' } });
const scopes: readonly Call[] = [
  ...scoped({ scopes: ['BestEffort'] }, [pod('a'), pod('b', burstable)]),
  ...scoped({ scopes: ['NotBestEffort'] }, [pod('a', burstable), pod('b')]),
  ...scoped({ scopes: ['Terminating'] }, [pod('a', { activeDeadlineSeconds: 5 }), pod('b')]),
  ...scoped({ scopes: ['NotTerminating'] }, [pod('b'), pod('a', { activeDeadlineSeconds: 5 })]),
  ...scoped({ scopes: ['NotTerminating', 'BestEffort'] }, [pod('b'), pod('a', burstable)]),
  ...scoped(scope('CrossNamespacePodAffinity', 'Exists'), [
    pod('a', {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'x', labelSelector: {}, namespaces: ['other'] },
          ],
        },
      },
    }),
    pod('b'),
  ]),
  ...scoped(scope('PriorityClass', 'DoesNotExist'), [
    pod('a'),
    pod('b', { priorityClassName: 'system-node-critical' }),
  ]),
];
const wrong: readonly Call[] = [
  { scopes: ['Wrong'] },
  { scopes: ['BestEffort', 'NotBestEffort'] },
  { scopes: ['BestEffort'], hard: { 'requests.cpu': '1' } },
  { scopes: ['BestEffort'], hard: { services: '1' } },
  scope('PriorityClass', 'In', []),
  scope('PriorityClass', 'Exists', ['a']),
  scope('Terminating', 'In', ['a']),
  scope('VolumeAttributesClass', 'In', ['a']),
  {
    hard: {
      Wrong: '1',
      'a b': '1',
      'requests.example.com/gpu': '1',
      'limits.example.com/gpu': '1',
    },
  },
  { hard: { pods: '-1', 'count/widgets.example.com': '1.5', 'requests.storage': '1Gi' } },
  { hard: { 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi', 'hugepages-2Mi': '1' } },
].map((spec) =>
  post(
    `${NAMESPACE}/resourcequotas?dryRun=All`,
    object('ResourceQuota', 'w', { hard: { pods: '1' }, ...spec }),
  ),
);

const claim = (storage: string, more: object = {}): object =>
  object('PersistentVolumeClaim', 'p', {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage } },
    ...more,
  });
const CLAIMS = `${NAMESPACE}/persistentvolumeclaims`;
const SERVICES = `${NAMESPACE}/services`;
const service = (name: string, type: string, more: object = {}): object =>
  object('Service', name, { type, ports: [{ port: 80 }], ...more });
const kinds: readonly Call[] = [
  ...quota('k', {
    'requests.storage': '2Gi',
    'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
    'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '5',
    persistentvolumeclaims: '5',
    services: '2',
    'services.loadbalancers': '1',
    'services.nodeports': '1',
    'count/jobs.batch': '0',
  }),
  until(403, post(`${CLAIMS}?dryRun=All`, claim('3Gi'))),
  post(`${CLAIMS}?dryRun=All`, claim('2Gi', { storageClassName: 'gold' })),
  post(CLAIMS, claim('1Gi', { storageClassName: 'gold' })),
  post(`${CLAIMS}?dryRun=All`, { ...claim('1Gi'), metadata: { name: 'p2' } }),
  post(`${SERVICES}?dryRun=All`, service('a', 'NodePort')),
  post(SERVICES, service('a', 'ClusterIP')),
  patch(`${SERVICES}/a`, { spec: { type: 'NodePort' } }),
  patch(`${SERVICES}/a`, {
    spec: {
      ports: [
        { port: 80, name: 'a' },
        { port: 81, name: 'b' },
      ],
    },
  }),
  patch(`${SERVICES}/a`, { spec: { type: 'LoadBalancer' } }),
  post(
    `${SERVICES}?dryRun=All`,
    service('b', 'LoadBalancer', { allocateLoadBalancerNodePorts: false }),
  ),
  patch(`${SERVICES}/a`, { spec: { type: 'ClusterIP' } }),
  post(SERVICES, service('b', 'ClusterIP')),
  post(SERVICES, service('c', 'ClusterIP')),
  post('/apis/batch/v1/namespaces/quo/jobs', {
    ...object('Job', 'j', { template: { spec: podSpec({ restartPolicy: 'Never' }) } }, 'batch/v1'),
  }),
  remove(`${SERVICES}/a`),
  remove(`${SERVICES}/b`),
  remove(`${CLAIMS}/p`),
  patch(`${CLAIMS}/p`, { metadata: { finalizers: null } }),
  ...removeQuota('k'),
];

export const quotaCalls: readonly Call[] = [
  post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'quo' } }),
  ...limits,
  ...counted,
  ...scopes,
  ...wrong,
  ...kinds,
];
