// Subresources: scale, status, eviction, binding, resize, ephemeral containers, tokens, approval.

import {
  apply,
  APPS,
  type Call,
  CORE,
  deployment,
  get,
  JSON_PATCH,
  patch,
  pod,
  podSpec,
  post,
  put,
  remove,
  STRATEGIC,
} from './call.ts';

const D = `${APPS}/deployments/sub`;
const P = `${CORE}/pods/sub`;
const scale = (replicas: unknown, more: object = {}): object => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'sub' },
  spec: { replicas },
  ...more,
});
const workload = (kind: string, apiVersion: string, spec: object): object => ({
  apiVersion,
  kind,
  metadata: { name: 'sub' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'sub' } },
    template: { metadata: { labels: { app: 'sub' } }, spec: podSpec() },
    ...spec,
  },
});

const scales: readonly Call[] = [
  post(`${APPS}/deployments`, deployment('sub')),
  get(`${D}/scale`),
  get(`${D}/scale`, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  put(`${D}/scale`, scale(3)),
  put(`${D}/scale?dryRun=All`, scale(9)),
  put(`${D}/scale`, scale(-1)),
  put(`${D}/scale`, scale('x')),
  put(`${D}/scale`, scale(3, { metadata: { name: 'other' } })),
  put(`${D}/scale`, scale(3, { metadata: { name: 'sub', resourceVersion: '1' } })),
  put(`${D}/scale`, scale(3, { metadata: { name: 'sub', uid: 'x' } })),
  put(`${D}/scale`, scale(3, { apiVersion: 'v1' })),
  put(`${D}/scale`, scale(3, { kind: 'Other' })),
  put(`${D}/scale`, {}),
  patch(`${D}/scale`, { spec: { replicas: 4 } }),
  patch(`${D}/scale`, { spec: { replicas: 4 } }, STRATEGIC),
  patch(`${D}/scale`, { metadata: { labels: { a: 'b' } } }),
  patch(
    `${D}/scale`,
    [
      { op: 'test', path: '/spec/replicas', value: 4 },
      { op: 'replace', path: '/spec/replicas', value: 5 },
    ],
    JSON_PATCH,
  ),
  patch(`${D}/scale`, [{ op: 'test', path: '/spec/replicas', value: 1 }], JSON_PATCH),
  patch(`${D}/scale?fieldManager=x`, { spec: { replicas: 6 } }),
  remove(`${D}/scale`),
  post(`${D}/scale`, scale(1)),
  get(`${APPS}/deployments/none/scale`),
  put(`${APPS}/deployments/none/scale`, scale(1, { metadata: { name: 'none' } })),
  get(D),
  post(`${APPS}/replicasets`, workload('ReplicaSet', 'apps/v1', {})),
  get(`${APPS}/replicasets/sub/scale`),
  patch(`${APPS}/replicasets/sub/scale`, { spec: { replicas: 2 } }),
  post(`${APPS}/statefulsets`, workload('StatefulSet', 'apps/v1', { serviceName: 's' })),
  patch(`${APPS}/statefulsets/sub/scale`, { spec: { replicas: 2 } }),
  post(
    `${CORE}/replicationcontrollers`,
    workload('ReplicationController', 'v1', { selector: { app: 'sub' } }),
  ),
  patch(`${CORE}/replicationcontrollers/sub/scale`, { spec: { replicas: 2 } }),
  get(`${APPS}/daemonsets/sub/scale`),
  patch(`${D}/status`, {
    status: { replicas: 3, conditions: [{ type: 'Available', status: 'True' }] },
  }),
  patch(`${D}/status`, { spec: { replicas: 1 }, metadata: { labels: { a: 'b' } } }),
  patch(`${D}/status`, { metadata: { annotations: { a: 'b' }, finalizers: ['example.com/a'] } }),
  put(`${D}/status`, { ...deployment('sub'), status: { readyReplicas: 9 } }),
  put(`${D}/status`, { ...deployment('sub'), status: { observedGeneration: -1 } }),
  remove(`${D}/status`),
  get(`${D}/other`),
  post(`${D}/other`, {}),
  remove(D),
  remove(`${APPS}/replicasets/sub`),
  remove(`${APPS}/statefulsets/sub`),
  remove(`${CORE}/replicationcontrollers/sub`),
];

const binding = (target: object, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name: 'sub' },
  target,
  ...more,
});
const eviction = (more: object = {}): object => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name: 'sub' },
  ...more,
});
const budget = (name: string, spec: object): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name },
  spec: { selector: { matchLabels: { app: 'sub' } }, ...spec },
});
const PDB = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const ephemeral = (...containers: readonly object[]): object => ({
  spec: { ephemeralContainers: containers },
});

const pods: readonly Call[] = [
  post(`${CORE}/pods`, pod('sub', {}, { labels: { app: 'sub' } })),
  get(`${P}/ephemeralcontainers`),
  patch(`${P}/ephemeralcontainers`, ephemeral({ name: 'e', image: 'x' }), STRATEGIC),
  patch(`${P}/ephemeralcontainers`, ephemeral({ name: 'e', image: 'y' }), STRATEGIC),
  patch(
    `${P}/ephemeralcontainers`,
    ephemeral({ name: 'f', image: 'y', ports: [{ containerPort: 1 }] }),
    STRATEGIC,
  ),
  patch(
    `${P}/ephemeralcontainers`,
    ephemeral({ name: 'f', image: 'y', resources: { limits: { cpu: 1 } } }),
    STRATEGIC,
  ),
  patch(
    `${P}/ephemeralcontainers`,
    ephemeral({ name: 'f', image: 'y', targetContainerName: 'none' }),
    STRATEGIC,
  ),
  patch(`${P}/ephemeralcontainers`, ephemeral({ name: 'f', livenessProbe: {} }), STRATEGIC),
  patch(`${P}/ephemeralcontainers`, { spec: { ephemeralContainers: [] } }),
  patch(`${P}/ephemeralcontainers`, { spec: { nodeName: 'x' } }),
  patch(P, ephemeral({ name: 'g', image: 'x' }), STRATEGIC),
  get(`${P}/resize`),
  patch(
    `${P}/resize`,
    { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] } },
    STRATEGIC,
  ),
  patch(
    `${P}/resize`,
    { spec: { containers: [{ name: 'c', resources: { limits: { memory: '1Gi' } } }] } },
    STRATEGIC,
  ),
  patch(`${P}/resize`, { spec: { containers: [{ name: 'none', image: 'x' }] } }, STRATEGIC),
  patch(`${P}/resize`, { spec: { priority: 1 } }),
  patch(
    P,
    { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] } },
    STRATEGIC,
  ),
  patch(P, { spec: { activeDeadlineSeconds: 10 } }),
  patch(P, { spec: { activeDeadlineSeconds: 20 } }),
  patch(P, { spec: { terminationGracePeriodSeconds: 20 } }),
  patch(P, { spec: { nodeName: 'n' } }),
  patch(P, { spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } }),
  patch(P, { spec: { containers: [{ name: 'c', image: '' }] } }, STRATEGIC),
  patch(P, { spec: { containers: [{ name: 'd', image: 'x' }] } }, STRATEGIC),
  patch(P, { spec: { initContainers: [{ name: 'd', image: 'x' }] } }, STRATEGIC),
  patch(P, { spec: { schedulingGates: [{ name: 'example.com/x' }] } }, STRATEGIC),
  patch(P, { spec: { hostname: 'x', subdomain: 'Y' } }),
  patch(P, { spec: { securityContext: { runAsUser: 1 } } }),
  patch(`${P}/status`, { status: { phase: 'Running', podIP: '1.2.3.4', hostIP: '1.2.3.5' } }),
  patch(`${P}/status`, { status: { podIPs: [{ ip: '1.2.3.4' }, { ip: '1.2.3.6' }] } }),
  patch(`${P}/status`, { status: { phase: 'Other', qosClass: 'Guaranteed' } }),
  patch(`${P}/status`, {
    status: {
      containerStatuses: [
        {
          name: 'c',
          image: 'x',
          imageID: '',
          ready: true,
          restartCount: 1,
          state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        },
      ],
    },
  }),
  patch(`${P}/status`, {
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'example.com/x', status: 'Maybe' },
      ],
    },
  }),
  patch(`${P}/status`, {
    status: { resourceClaimStatuses: [{ name: 'x' }], nominatedNodeName: 'A!' },
  }),
  patch(`${P}/status`, { metadata: { labels: { a: 'b' } }, spec: { priority: 2 } }),
  get(`${P}/status`),
  post(`${P}/binding`, binding({ kind: 'Node' })),
  post(`${P}/binding`, binding({ kind: 'Pod', name: 'n' })),
  post(`${P}/binding`, binding({ name: 'n' }, { metadata: { name: 'other' } })),
  post(`${P}/binding`, binding({ name: 'n' }, { metadata: { name: 'sub', uid: 'x' } })),
  post(`${P}/binding?dryRun=All`, binding({ name: 'n' })),
  post(
    `${P}/binding`,
    binding(
      { kind: 'Node', name: 'n' },
      { metadata: { name: 'sub', annotations: { a: 'b' }, labels: { c: 'd' } } },
    ),
  ),
  post(`${P}/binding`, binding({ kind: 'Node', name: 'n' })),
  post(`${CORE}/bindings`, binding({ kind: 'Node', name: 'm' })),
  get(`${P}/binding`),
  get(P),
  post(PDB, budget('one', { minAvailable: 1 })),
  post(`${P}/eviction`, eviction()),
  patch(`${PDB}/one/status`, {
    status: {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    },
  }),
  patch(`${P}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, STRATEGIC),
  post(`${P}/eviction`, eviction()),
  post(PDB, budget('two', { maxUnavailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' })),
  post(`${P}/eviction`, eviction()),
  remove(`${PDB}/two`),
  patch(`${PDB}/one/status`, { status: { disruptionsAllowed: 1 } }),
  post(`${P}/eviction`, eviction({ deleteOptions: { dryRun: ['All'] } })),
  post(`${P}/eviction`, eviction({ deleteOptions: { preconditions: { uid: 'x' } } })),
  post(`${P}/eviction`, eviction({ deleteOptions: { gracePeriodSeconds: -5 } })),
  post(`${P}/eviction`, eviction({ apiVersion: 'policy/v1beta1' })),
  post(`${P}/eviction`, eviction({ metadata: {} })),
  post(`${P}/eviction`, {}),
  post(`${P}/eviction`, eviction()),
  get(`${PDB}/one`),
  remove(`${PDB}/one`),
  remove(`${P}?gracePeriodSeconds=0`),
];

const token = (spec: object, more: object = {}): object => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  spec,
  ...more,
});
const T = `${CORE}/serviceaccounts/sub/token`;
/** Returns the request without the token and its end. */
function withoutToken(body: unknown): unknown {
  const { status, ...rest } = body as { readonly status: object };
  return { ...rest, status: Object.keys(status) };
}
const tokens: readonly Call[] = [
  post(`${CORE}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'sub' },
  }),
  ...[
    token({}),
    token({ expirationSeconds: 600 }),
    token({ expirationSeconds: 599 }),
    token({ expirationSeconds: 4294967297 }),
    token({ audiences: ['a', 'b'] }),
    token({ audiences: [''] }),
    token({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'none' } }),
    token({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'none', uid: 'x' } }),
    token({ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'none' } }),
    token({ boundObjectRef: { kind: 'Service', apiVersion: 'v1', name: 'none' } }),
    token({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1' } }),
    token({}, { metadata: { name: 'other' } }),
    token({}, { metadata: { namespace: 'other' } }),
    token({}, { kind: 'Other' }),
    {},
  ].map((body) => ({ ...post(T, body), part: withoutToken })),
  { ...post(`${T}?dryRun=All`, token({})), part: withoutToken },
  get(T),
  remove(`${CORE}/serviceaccounts/sub`),
];

const CSR = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const condition = (type: string, status = 'True'): object => ({
  status: { conditions: [{ type, status, reason: 'R', message: 'm' }] },
});
const namespaces: readonly Call[] = [
  post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sub' } }),
  patch('/api/v1/namespaces/sub/status', { status: { phase: 'Terminating' } }),
  put('/api/v1/namespaces/sub/finalize', {
    metadata: { name: 'sub' },
    spec: { finalizers: ['example.com/x', 'kubernetes'] },
  }),
  put('/api/v1/namespaces/sub/finalize', {
    metadata: { name: 'sub' },
    spec: { finalizers: ['x'] },
  }),
  get('/api/v1/namespaces/sub/finalize'),
  patch('/api/v1/namespaces/sub/finalize', { spec: { finalizers: [] } }),
  patch('/api/v1/namespaces/sub', { spec: { finalizers: [] } }),
  patch('/api/v1/namespaces/sub', { metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } } }),
  remove('/api/v1/namespaces/sub'),
  remove('/api/v1/namespaces/sub'),
  post('/api/v1/namespaces/sub/configmaps', { metadata: { name: 'late' } }),
  post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sub' } }),
  put('/api/v1/namespaces/sub/finalize', { metadata: { name: 'sub' }, spec: { finalizers: [] } }),
  get('/api/v1/namespaces/sub'),
  remove('/api/v1/namespaces/kube-system'),
  post('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'sub' },
    spec: { podCIDR: '10.1.0.0/24', taints: [{ key: 'a', effect: 'NoSchedule' }] },
  }),
  patch('/api/v1/nodes/sub/status', {
    status: { capacity: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
  }),
  patch('/api/v1/nodes/sub/status', {
    status: { addresses: [{ type: 'InternalIP', address: 'x' }] },
    spec: { unschedulable: true },
  }),
  patch('/api/v1/nodes/sub/status', { status: { capacity: { cpu: '-4' } } }),
  patch('/api/v1/nodes/sub', { spec: { podCIDR: '10.2.0.0/24' } }),
  patch('/api/v1/nodes/sub', { spec: { providerID: 'a' } }),
  patch('/api/v1/nodes/sub', { spec: { providerID: 'b' } }),
  patch('/api/v1/nodes/sub', {
    spec: { unschedulable: true, taints: [{ key: 'a', effect: 'X' }] },
  }),
  get('/api/v1/nodes/sub', 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  remove('/api/v1/nodes/sub'),
  get(`${CSR}/none/approval`),
  put(`${CSR}/none/approval`, { metadata: { name: 'none' }, ...condition('Approved') }),
];

export const subresourceCalls: readonly Call[] = [
  ...scales,
  ...pods,
  ...tokens,
  ...namespaces,
  apply(`${CORE}/pods/none/status`, 'fieldManager=x', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'none' },
  }),
];
