// Admission plugins that are off by default, with an AdmissionConfiguration.

import {
  APPS,
  as,
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
} from '../calls/call.ts';
import type { Settings } from './servers.ts';

const AUTHORIZATION = '/apis/rbac.authorization.k8s.io/v1';
const namespace = (name: string, annotations: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, annotations },
});
const inNamespace = (name: string, resource: string): string =>
  `/api/v1/namespaces/${name}/${resource}`;

export const PLUGIN_SETTINGS: Settings = {
  plugins: [
    'NodeRestriction',
    'AlwaysPullImages',
    'DenyServiceExternalIPs',
    'EventRateLimit',
    'ExtendedResourceToleration',
    'LimitPodHardAntiAffinityTopology',
    'NamespaceAutoProvision',
    'OwnerReferencesPermissionEnforcement',
    'PodNodeSelector',
    'PodTolerationRestriction',
  ],
  admission: {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [
      {
        name: 'EventRateLimit',
        configuration: {
          apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
          kind: 'Configuration',
          limits: [{ type: 'Namespace', qps: 1, burst: 3, cacheSize: 10 }],
        },
      },
      {
        name: 'PodNodeSelector',
        configuration: {
          podNodeSelectorPluginConfig: {
            clusterDefaultNodeSelector: 'pool=default',
            limited: 'env=test,zone=a',
          },
        },
      },
      {
        name: 'PodTolerationRestriction',
        configuration: {
          apiVersion: 'podtolerationrestriction.admission.k8s.io/v1alpha1',
          kind: 'Configuration',
          default: [{ key: 'team', operator: 'Equal', value: 'a', effect: 'NoSchedule' }],
          whitelist: [
            { key: 'team', operator: 'Exists' },
            { key: 'example.com/gpu', operator: 'Exists' },
            { key: 'node.kubernetes.io/not-ready', operator: 'Exists' },
            { key: 'node.kubernetes.io/unreachable', operator: 'Exists' },
            { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' },
          ],
        },
      },
      {
        name: 'ResourceQuota',
        configuration: {
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'ResourceQuotaConfiguration',
          limitedResources: [
            { resource: 'persistentvolumeclaims', matchContains: ['gold.storageclass'] },
            { apiGroup: 'apps', resource: 'deployments', matchContains: ['count/'] },
            {
              resource: 'pods',
              matchScopes: [
                {
                  scopeName: 'PriorityClass',
                  operator: 'In',
                  values: ['system-cluster-critical'],
                },
              ],
            },
          ],
        },
      },
    ],
  },
  authorizationModes: ['Node', 'RBAC'],
  policies: [],
};

const P = inNamespace('plain', 'pods');
const L = inNamespace('limited', 'pods');
const container = (more: object): object => ({ name: 'c', image: 'busybox:1', ...more });
const tolerating = (...tolerations: object[]): object => ({ tolerations });
const antiAffinity = (topologyKey: string): object => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey, labelSelector: { matchLabels: { a: 'b' } } },
      ],
    },
  },
});

const OWN_WHITELIST = ['x', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map(
  (key) => ({ key, operator: 'Exists' }),
);

const pods: readonly Call[] = [
  post('/api/v1/namespaces', namespace('plain')),
  post('/api/v1/namespaces', namespace('limited')),
  post(P, pod('pulled', { containers: [container({ imagePullPolicy: 'Never' })] })),
  post(
    P,
    pod('pulled-all', {
      initContainers: [container({ name: 'i', imagePullPolicy: 'IfNotPresent' })],
      volumes: [{ name: 'v', image: { reference: 'a/b:1', pullPolicy: 'Never' } }],
    }),
  ),
  patch(`${P}/pulled`, { spec: { containers: [{ name: 'c', image: 'busybox:2' }] } }),
  post(P, pod('spread', antiAffinity('kubernetes.io/hostname'))),
  post(P, pod('spread-wide', antiAffinity('zone'))),
  post(inNamespace('plain', 'replicationcontrollers'), {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'spread-wide' },
    spec: {
      selector: { a: 'b' },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [container({})], ...antiAffinity('zone') },
      },
    },
  }),
  post(
    P,
    pod('gpu', {
      containers: [container({ resources: { limits: { 'example.com/gpu': '1', cpu: '1' } } })],
    }),
  ),
  post(
    P,
    pod('gpus', {
      containers: [
        container({ resources: { limits: { 'example.com/gpu': '1', 'example.com/b': '2' } } }),
      ],
    }),
  ),
  post(P, pod('tolerant', tolerating({ key: 'other', operator: 'Exists' }))),
  post(P, pod('team', tolerating({ key: 'team', operator: 'Exists', effect: 'NoSchedule' }))),
  post(P, pod('conflict', tolerating({ key: 'team', value: 'b', effect: 'NoSchedule' }))),
  post(
    P,
    pod('guaranteed', {
      containers: [container({ resources: { limits: { cpu: '1', memory: '1Mi' } } })],
    }),
  ),
  patch(`${P}/team`, { spec: { tolerations: [{ key: 'more', operator: 'Exists' }] } }),
  post(L, pod('selected')),
  post(L, pod('selected-more', { nodeSelector: { env: 'test' } })),
  post(L, pod('selected-else', { nodeSelector: { env: 'prod' } })),
  post(L, pod('selected-beyond', { nodeSelector: { disk: 'ssd' } })),
  post(
    '/api/v1/namespaces',
    namespace('annotated', {
      'scheduler.alpha.kubernetes.io/node-selector': 'env=dev',
      'scheduler.alpha.kubernetes.io/defaultTolerations': '[{"key":"x","operator":"Exists"}]',
      'scheduler.alpha.kubernetes.io/tolerationsWhitelist': JSON.stringify(OWN_WHITELIST),
    }),
  ),
  post(inNamespace('annotated', 'pods'), pod('a')),
  post(inNamespace('annotated', 'pods'), pod('b', { nodeSelector: { env: 'test' } })),
  post(inNamespace('annotated', 'pods'), pod('c', tolerating({ key: 'team', operator: 'Exists' }))),
  patch('/api/v1/namespaces/annotated', {
    metadata: {
      annotations: {
        'scheduler.alpha.kubernetes.io/node-selector': 'env in (a',
        'scheduler.alpha.kubernetes.io/defaultTolerations': '{',
      },
    },
  }),
  post(inNamespace('annotated', 'pods'), pod('d')),
];

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const others: readonly Call[] = [
  post(`${CORE}/services`, service('external', { externalIPs: ['192.0.2.1'] })),
  post(`${CORE}/services`, service('internal', {})),
  patch(`${CORE}/services/internal`, { spec: { externalIPs: ['192.0.2.1', '192.0.2.2'] } }),
  patch(`${CORE}/services/internal`, { metadata: { labels: { a: 'b' } } }),
  post(inNamespace('fresh', 'configmaps'), configMap('a')),
  get('/api/v1/namespaces/fresh'),
  post(`${inNamespace('fresh-dry', 'configmaps')}?dryRun=All`, configMap('a')),
  get('/api/v1/namespaces/fresh-dry'),
  get(inNamespace('nowhere', 'configmaps/a')),
  put(inNamespace('nowhere', 'configmaps/a'), configMap('a')),
  remove(inNamespace('nowhere', 'configmaps/a')),
  post(inNamespace('Wrong_Name', 'configmaps'), configMap('a')),
  ...['a', 'b', 'c', 'd', 'e'].map((name) =>
    post(inNamespace('plain', 'events'), {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name },
      involvedObject: { kind: 'Pod', namespace: 'plain', name: 'a' },
    }),
  ),
];

const owned = (name: string, more: object): object =>
  configMap(name, {
    metadata: {
      name,
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'Deployment', name: 'owner', uid: 'u-1', ...more },
      ],
    },
  });
const rule = (
  verbs: readonly string[],
  group: string,
  ...resources: readonly string[]
): object => ({
  verbs,
  apiGroups: [group],
  resources,
});
const owners: readonly Call[] = [
  post(`${AUTHORIZATION}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'owners' },
    rules: [
      rule(['*'], '', 'configmaps'),
      rule(['update'], 'apps', 'statefulsets/finalizers'),
      rule(['delete'], '', 'nodes'),
    ],
  }),
  post(`${AUTHORIZATION}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'owners' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'owners' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'olga' }],
  }),
  { ...as('olga', get(`${CORE}/configmaps/none`)), untilCode: 404 },
  as('olga', post(`${CORE}/configmaps`, owned('blocking', { blockOwnerDeletion: true }))),
  as('olga', post(`${CORE}/configmaps`, owned('free', {}))),
  as(
    'olga',
    post(`${CORE}/configmaps`, owned('allowed', { kind: 'StatefulSet', blockOwnerDeletion: true })),
  ),
  as(
    'olga',
    post(`${CORE}/configmaps`, owned('unknown', { kind: 'Nothing', blockOwnerDeletion: true })),
  ),
  as(
    'olga',
    patch(`${CORE}/configmaps/free`, {
      metadata: {
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'Deployment',
            name: 'owner',
            uid: 'u-1',
            blockOwnerDeletion: true,
          },
        ],
      },
    }),
  ),
  as('olga', patch(`${CORE}/configmaps/free`, { data: { c: 'd' } })),
];

const claim = (name: string, storageClassName: string): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName,
    resources: { requests: { storage: '1Gi' } },
  },
});
const quota = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name },
  spec,
});
const withStatus = (name: string, hard: Readonly<Record<string, string>>): Call =>
  patch(`${CORE}/resourcequotas/${name}/status`, {
    status: { hard, used: Object.fromEntries(Object.keys(hard).map((key) => [key, '0'])) },
  });
const critical = { priorityClassName: 'system-cluster-critical' };
const scopeSelector = {
  matchExpressions: [{ scopeName: 'PriorityClass', operator: 'Exists' }],
};
const GOLD = { 'gold.storageclass.storage.k8s.io/requests.storage': '3Gi' };
const quotas: readonly Call[] = [
  post(`${CORE}/persistentvolumeclaims`, claim('silver', 'silver')),
  post(`${CORE}/persistentvolumeclaims`, claim('gold', 'gold')),
  post(`${CORE}/resourcequotas`, quota('gold', { hard: GOLD })),
  withStatus('gold', GOLD),
  // The requests.storage of the class is covered, the number of claims is not.
  { ...post(`${CORE}/persistentvolumeclaims`, claim('gold', 'gold')), untilCode: 'error' },
  post(`${APPS}/deployments`, deployment('counted')),
  post(`${CORE}/resourcequotas`, quota('deployments', { hard: { 'count/deployments.apps': '1' } })),
  withStatus('deployments', { 'count/deployments.apps': '1' }),
  { ...post(`${APPS}/deployments`, deployment('counted')), untilCode: 201 },
  post(`${APPS}/deployments`, deployment('counted-too')),
  patch(`${APPS}/deployments/counted`, { metadata: { labels: { a: 'b' } } }),
  post(`${CORE}/pods`, pod('critical', critical)),
  post(`${CORE}/pods`, pod('usual')),
  post(`${CORE}/resourcequotas`, quota('critical', { hard: { pods: '1' }, scopeSelector })),
  withStatus('critical', { pods: '1' }),
  { ...post(`${CORE}/pods`, pod('critical', critical)), untilCode: 201 },
  post(`${CORE}/pods`, pod('critical-too', critical)),
];

export const PLUGIN_CALLS: Readonly<Record<string, readonly Call[]>> = {
  'plugins-pods': pods,
  'plugins-others': others,
  'plugins-owners': owners,
  'plugins-quotas': quotas,
};
