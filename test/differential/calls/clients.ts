// Requests as kubectl, operators and older clients send them: large manifests, strategic patches of
// every list of pods, server-side apply of lists with doubled and defaulted keys, tests in JSON
// patches, events in both groups.

import {
  APPS,
  apply,
  type Call,
  configMap,
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

const D = `${APPS}/deployments/cl`;
const P = `${CORE}/pods/cl`;
const S = `${CORE}/services/cl`;
const BATCH = '/apis/batch/v1/namespaces/default';
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

/** A manifest with hundreds of items, as charts have. */
const large = (image: string): object =>
  deployment(
    'cl',
    {
      template: {
        metadata: { labels: { app: 'cl' }, annotations: { checksum: 'x'.repeat(1000) } },
        spec: podSpec({
          containers: numbers(20).map((index) => ({
            name: `c${index}`,
            image,
            env: numbers(60).map((n) => ({ name: `E${n}`, value: `${n} ${'v'.repeat(50)}` })),
            ports: numbers(5).map((n) => ({ containerPort: 1000 + index * 10 + n })),
            volumeMounts: numbers(10).map((n) => ({ name: `v${n}`, mountPath: `/m/${n}` })),
          })),
          volumes: numbers(10).map((n) => ({ name: `v${n}`, configMap: { name: `c${n}` } })),
        }),
      },
    },
    { annotations: { long: 'y'.repeat(100_000) } },
  );

const spec = (more: object): object => ({ spec: { template: { spec: more } } });
const strategic = (more: object): Call => patch(D, spec(more), STRATEGIC);

const manifests: readonly Call[] = [
  post(
    `${APPS}/deployments?fieldManager=kubectl-client-side-apply&fieldValidation=Strict`,
    large('a'),
  ),
  get(D),
  apply(D, 'fieldManager=kubectl&force=true&fieldValidation=Strict', large('b')),
  apply(D, 'fieldManager=kubectl', large('b')),
  put(`${D}?fieldManager=helm`, large('c')),
  apply(D, 'fieldManager=kubectl', large('d')),
  patch(D, { metadata: { annotations: { more: 'z'.repeat(200_000) } } }),
  patch(D, { metadata: { annotations: { 'a b': 'z' } } }),
  remove(D),
];

/** The lists of a pod's spec that are merged by a key, with two values of it. */
const strategicLists: readonly Call[] = [
  post(`${APPS}/deployments`, deployment('cl')),
  ...[
    {
      containers: [
        {
          name: 'c',
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
        },
      ],
    },
    { containers: [{ name: 'c', env: [{ name: 'A', value: '3' }] }] },
    {
      containers: [
        {
          name: 'c',
          '$setElementOrder/env': [{ name: 'B' }, { name: 'A' }],
          env: [{ name: 'B', value: 'x' }],
        },
      ],
    },
    {
      containers: [
        {
          name: 'c',
          env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        },
      ],
    },
    {
      containers: [
        {
          name: 'c',
          env: [
            { name: 'A', value: null, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
        },
      ],
    },
    { containers: [{ name: 'c', env: null }] },
    { containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'a' } }] }] },
    { containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'b' } }] }] },
    {
      containers: [
        { name: 'c', ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }] },
      ],
    },
    { containers: [{ name: 'c', ports: [{ containerPort: 80, name: 'x' }] }] },
    { containers: [{ name: 'c', ports: [{ containerPort: 80, $patch: 'delete' }] }] },
    {
      containers: [{ name: 'c', volumeMounts: [{ mountPath: '/a', name: 'v' }] }],
      volumes: [{ name: 'v', emptyDir: {} }],
    },
    { containers: [{ name: 'c', volumeMounts: [{ mountPath: '/a', name: 'v', readOnly: true }] }] },
    { containers: [{ name: 'c', volumeMounts: [{ mountPath: '/a', $patch: 'delete' }] }] },
    { containers: [{ name: 'c', volumeDevices: [{ devicePath: '/d', name: 'v' }] }] },
    { containers: [{ name: 'c', resources: { limits: { cpu: '1' } } }] },
    { containers: [{ name: 'c', resources: { limits: { memory: '1Gi' } } }] },
    { containers: [{ name: 'c', resources: { limits: { cpu: null } } }] },
    { containers: [{ name: 'c', resources: { $patch: 'replace', requests: { cpu: '1' } } }] },
    {
      containers: [
        { name: 'c', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] },
      ],
    },
    {
      containers: [
        {
          name: 'c',
          resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
        },
      ],
    },
    { containers: [{ name: 'c', command: ['a', 'b'] }] },
    { containers: [{ name: 'c', command: ['c'] }] },
    { containers: [{ name: 'c', securityContext: { capabilities: { add: ['A'] } } }] },
    { containers: [{ name: 'c', securityContext: { capabilities: { add: ['B'] } } }] },
    { containers: [{ name: 'c', livenessProbe: { httpGet: { port: 80 } } }] },
    { containers: [{ name: 'c', livenessProbe: { exec: { command: ['x'] } } }] },
    { containers: [{ name: 'c', livenessProbe: { httpGet: null, exec: { command: ['x'] } } }] },
    { containers: [{ name: 'c', livenessProbe: null }] },
    { containers: [{ name: 'c' }, { name: 'c', image: 'twice' }] },
    { initContainers: [{ name: 'i', image: 'x' }] },
    { initContainers: [{ name: 'i', restartPolicy: 'Always' }] },
    { initContainers: [{ name: 'i', $patch: 'delete' }] },
    { volumes: [{ name: 'v', emptyDir: null, secret: { secretName: 's' } }] },
    { volumes: [{ name: 'v', secret: { items: [{ key: 'a', path: 'b' }] } }] },
    { volumes: [{ name: 'v', secret: { items: [{ key: 'c', path: 'd' }] } }] },
    { volumes: [{ name: 'w', projected: { sources: [{ secret: { name: 'a' } }] } }] },
    { volumes: [{ name: 'w', projected: { sources: [{ secret: { name: 'b' } }] } }] },
    { volumes: null },
    { tolerations: [{ key: 'a', operator: 'Exists' }] },
    {
      tolerations: [
        { key: 'a', operator: 'Exists' },
        { key: 'a', operator: 'Exists' },
      ],
    },
    { imagePullSecrets: [{ name: 'a' }, { name: 'b' }] },
    { imagePullSecrets: [{ name: 'a', $patch: 'delete' }] },
    {
      '$setElementOrder/imagePullSecrets': [{ name: 'c' }, { name: 'b' }],
      imagePullSecrets: [{ name: 'c' }],
    },
    { hostAliases: [{ ip: '1.2.3.4', hostnames: ['a'] }] },
    {
      hostAliases: [
        { ip: '1.2.3.4', hostnames: ['b'] },
        { ip: '1.2.3.5', hostnames: ['c'] },
      ],
    },
    {
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
      ],
    },
    {
      topologySpreadConstraints: [
        { maxSkew: 2, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
      ],
    },
    {
      topologySpreadConstraints: [
        { maxSkew: 2, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
    },
    { readinessGates: [{ conditionType: 'a' }] },
    { readinessGates: [{ conditionType: 'b' }] },
    { schedulingGates: [{ name: 'a' }] },
    { schedulingGates: [{ name: 'b' }] },
    { resourceClaims: [{ name: 'a', resourceClaimName: 'x' }] },
    {
      resourceClaims: [
        {
          name: 'a',
          $retainKeys: ['name', 'resourceClaimTemplateName'],
          resourceClaimTemplateName: 'y',
        },
      ],
    },
    { securityContext: { sysctls: [{ name: 'kernel.a', value: '1' }] } },
    { securityContext: { sysctls: [{ name: 'kernel.b', value: '1' }], supplementalGroups: [1] } },
    { securityContext: { supplementalGroups: [2] } },
    { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
    { securityContext: { $patch: 'delete' } },
    { dnsConfig: { nameservers: ['1.1.1.1'], options: [{ name: 'a' }] } },
    { dnsConfig: { nameservers: ['1.1.1.2'], options: [{ name: 'b' }] } },
    {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
          ],
        },
      },
    },
    {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 2, preference: { matchExpressions: [{ key: 'b', operator: 'Exists' }] } },
          ],
        },
      },
    },
    { nodeSelector: { a: 'b' } },
    { nodeSelector: { a: null, c: 'd' } },
    { nodeSelector: { $patch: 'replace', e: 'f' } },
    { nodeSelector: 1 },
    { nodeSelector: [] },
  ].map(strategic),
  patch(
    D,
    { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u1' }] } },
    STRATEGIC,
  ),
  patch(
    D,
    { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'b', uid: 'u2' }] } },
    STRATEGIC,
  ),
  patch(D, { metadata: { ownerReferences: [{ uid: 'u1', $patch: 'delete' }] } }, STRATEGIC),
  patch(D, { metadata: { managedFields: null } }, STRATEGIC),
  patch(D, { metadata: { managedFields: [] } }, STRATEGIC),
  patch(`${D}/status`, { status: { conditions: [{ type: 'A', status: 'True' }] } }, STRATEGIC),
  patch(`${D}/status`, { status: { conditions: [{ type: 'B', status: 'True' }] } }, STRATEGIC),
  patch(`${D}/status`, { status: { conditions: [{ type: 'A', status: 'False' }] } }, STRATEGIC),
  patch(`${D}/status`, { status: { conditions: [{ type: 'A', $patch: 'delete' }] } }, STRATEGIC),
  get(D),
  remove(D),
];

const tested = (...operations: readonly object[]): Call => patch(D, operations, JSON_PATCH);
const TEST = { op: 'test' };

const jsonTests: readonly Call[] = [
  post(
    `${APPS}/deployments`,
    deployment('cl', {}, { labels: { 'a/b': 'c', 'd~e': 'f', '': 'g' } }),
  ),
  post(
    `${APPS}/deployments`,
    deployment('cl', {}, { labels: { 'a/b': 'c' }, annotations: { d: 'f' } }),
  ),
  ...[
    [{ ...TEST, path: '/spec/replicas', value: 2 }],
    [{ ...TEST, path: '/spec/replicas', value: 2.0 }],
    [{ ...TEST, path: '/spec/replicas', value: '2' }],
    [{ ...TEST, path: '/spec/replicas', value: null }],
    [{ ...TEST, path: '/spec/replicas' }],
    [{ ...TEST, path: '/spec/paused', value: null }],
    [{ ...TEST, path: '/spec/paused', value: false }],
    [{ ...TEST, path: '/spec/selector', value: { matchLabels: { app: 'cl' } } }],
    [{ ...TEST, path: '/spec/selector', value: {} }],
    [{ ...TEST, path: '', value: {} }],
    [{ ...TEST, path: '/', value: 1 }],
    [{ ...TEST, path: '/metadata/labels/a~1b', value: 'c' }],
    [{ ...TEST, path: '/metadata/labels/a/b', value: 'c' }],
    [{ ...TEST, path: '/metadata/labels/a~2b', value: 'c' }],
    [{ ...TEST, path: '/spec/template/spec/containers/0/name', value: 'c' }],
    [{ ...TEST, path: '/spec/template/spec/containers/-/name', value: 'c' }],
    [{ ...TEST, path: '/spec/template/spec/containers/00/name', value: 'c' }],
    [{ ...TEST, path: '/spec/template/spec/containers/1/name', value: 'c' }],
    [{ ...TEST, path: '/spec/template/spec/containers/x', value: 'c' }],
    [{ ...TEST, path: '/spec/template/spec/containers', value: [] }],
    [{ ...TEST, path: '/metadata/resourceVersion', value: '1' }],
    [
      { ...TEST, path: '/kind', value: 'Deployment' },
      { op: 'add', path: '/metadata/labels/x', value: 'y' },
    ],
    [
      { op: 'add', path: '/metadata/labels/z', value: 'y' },
      { ...TEST, path: '/metadata/labels/z', value: 'n' },
    ],
    [
      { op: 'add', path: '/metadata/labels/z', value: 'y' },
      { ...TEST, path: '/metadata/labels/z', value: 'y' },
    ],
    [
      { op: 'remove', path: '/metadata/labels/z' },
      { op: 'remove', path: '/metadata/labels/z' },
    ],
    [{ op: 'replace', path: '/metadata/labels', value: null }],
    [{ op: 'add', path: '/metadata/labels', value: 'x' }],
    [{ op: 'add', path: '/metadata/labels/x', value: 1 }],
    [{ op: 'add', path: '/metadata/finalizers/-', value: 'example.com/a' }],
    [
      { op: 'add', path: '/metadata/finalizers', value: [] },
      { op: 'add', path: '/metadata/finalizers/-', value: 'example.com/a' },
    ],
    [{ op: 'remove', path: '/metadata/finalizers/0' }],
    [{ op: 'remove', path: '/metadata/finalizers' }],
    [
      {
        op: 'copy',
        from: '/spec/template/spec/containers/0',
        path: '/spec/template/spec/containers/-',
      },
    ],
    [
      {
        op: 'move',
        from: '/spec/template/spec/containers/0',
        path: '/spec/template/spec/containers/0',
      },
    ],
    [{ op: 'move', from: '/spec', path: '/spec/template' }],
    [{ op: 'copy', path: '/spec/template' }],
    [{ OP: 'test', PATH: '/kind', VALUE: 'Deployment' }],
    [{ op: 'Test', path: '/kind', value: 'Deployment' }],
    [{ op: 'test', path: '/kind', value: 'Deployment', extra: 1 }],
    [{ op: 1, path: '/kind' }],
    [{ op: 'test', path: 1 }],
    [{}],
  ].map((operations) => tested(...operations)),
  patch(D, [null], JSON_PATCH),
  patch(D, [[]], JSON_PATCH),
  patch(D, '[{"op":"add","path":"/metadata/labels/q","value":"1","value":"2"}]', JSON_PATCH),
  patch(D, ' [ ] ', JSON_PATCH),
  get(D),
  remove(D),
];

const service = (ports: readonly object[], more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'cl' },
  spec: { ports, ...more },
});
const applyS = (manager: string, body: object): Call => apply(S, `fieldManager=${manager}`, body);
const withContainer = (more: object): object =>
  pod('cl', { containers: [{ name: 'c', image: 'i', ...more }] });
const applyP = (manager: string, more: object, force = false): Call =>
  apply(P, `fieldManager=${manager}${force ? '&force=true' : ''}`, withContainer(more));

const keys: readonly Call[] = [
  // The protocol is a key with a default.
  applyS('a', service([{ port: 80 }])),
  applyS('b', service([{ port: 80, protocol: 'TCP', name: 'x' }])),
  applyS(
    'b',
    service([
      { port: 80, protocol: 'UDP', name: 'u' },
      { port: 80, name: 't' },
    ]),
  ),
  applyS('b', service([{ port: 80 }, { port: 80, protocol: 'TCP' }])),
  applyS(
    'a',
    service([
      { port: 80, name: 'a' },
      { port: 80, name: 'b' },
    ]),
  ),
  applyS('a', service([{ protocol: 'TCP' }])),
  applyS('a', service([{ port: '80' }])),
  applyS('a', service([{ port: 80.5 }])),
  applyS('a', service([{ port: null }])),
  applyS('a', service([null as unknown as object])),
  get(S),
  // Stored objects may have doubled keys.
  put(
    S,
    service([
      { port: 80, name: 'a' },
      { port: 80, protocol: 'UDP', name: 'b' },
      { port: 81, name: 'c' },
    ]),
  ),
  applyS('c', service([{ port: 81, name: 'c', targetPort: 8 }])),
  applyS('c', service([])),
  get(S),
  remove(S),
  applyP('a', { ports: [{ containerPort: 80 }] }),
  applyP('b', { ports: [{ containerPort: 80, protocol: 'TCP' }] }),
  applyP('b', { ports: [{ containerPort: 80, protocol: 'UDP' }] }),
  remove(`${P}?gracePeriodSeconds=0`),
  applyP('a', {
    env: [
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
    ],
  }),
  post(
    `${CORE}/pods`,
    withContainer({ env: [{ name: 'A', value: '1' }, { name: 'A', value: '2' }, { name: 'B' }] }),
  ),
  applyP('b', { env: [{ name: 'B', value: 'x' }] }),
  applyP('b', { env: [{ name: 'A', value: 'x' }] }, true),
  applyP('b', { image: 'j' }, true),
  applyP('b', {}),
  patch(P, { metadata: { labels: { x: 'y' } } }),
  get(P),
  remove(`${P}?gracePeriodSeconds=0`),
  post(
    `${CORE}/pods`,
    withContainer({
      ports: [
        { containerPort: 80, name: 'a' },
        { containerPort: 80, name: 'b', protocol: 'UDP' },
      ],
    }),
  ),
  applyP('b', { ports: [{ containerPort: 80, name: 'a' }] }),
  apply(
    P,
    'fieldManager=c',
    pod('cl', {
      containers: [{ name: 'c', image: 'i' }],
      tolerations: [{ key: 'a', operator: 'Exists' }],
    }),
  ),
  apply(
    P,
    'fieldManager=c',
    pod('cl', { containers: [], hostAliases: [{ ip: '1.1.1.1' }, { ip: '1.1.1.1' }] }),
  ),
  apply(
    P,
    'fieldManager=c',
    pod(
      'cl',
      {},
      {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u' },
          { apiVersion: 'v1', kind: 'A', name: 'b', uid: 'u' },
        ],
      },
    ),
  ),
  apply(P, 'fieldManager=c', pod('cl', {}, { finalizers: ['example.com/a', 'example.com/a'] })),
  get(P),
  remove(`${P}?gracePeriodSeconds=0`),
  apply(`${POLICIES}/cl`, 'fieldManager=a', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'cl' },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }, {}] },
  }),
  apply(`${POLICIES}/cl`, 'fieldManager=b', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'cl' },
    spec: { ingress: [{}] },
  }),
  remove(`${POLICIES}/cl`),
  apply(`${BATCH}/jobs/cl`, 'fieldManager=a', {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'cl' },
    spec: { template: { spec: podSpec({ restartPolicy: 'Never' }) } },
  }),
  apply(`${BATCH}/jobs/cl`, 'fieldManager=a', {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'cl' },
    spec: { template: { spec: podSpec({ restartPolicy: 'OnFailure' }) } },
  }),
  apply(`${BATCH}/jobs/cl`, 'fieldManager=b', {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'cl' },
    spec: { suspend: true },
  }),
  {
    ...get(`${BATCH}/jobs/cl`),
    part: (body) => (body as { spec: { suspend: unknown } }).spec.suspend,
  },
  remove(`${BATCH}/jobs/cl?propagationPolicy=Background`),
  // Lists with a map of items of other owners, and values that are atomic.
  apply(`${CORE}/configmaps/cl`, 'fieldManager=a', configMap('cl', { data: { a: '1', b: '2' } })),
  apply(`${CORE}/configmaps/cl`, 'fieldManager=b', configMap('cl', { data: { a: '1', c: '3' } })),
  apply(`${CORE}/configmaps/cl`, 'fieldManager=a', configMap('cl', { data: {} })),
  apply(`${CORE}/configmaps/cl`, 'fieldManager=b', configMap('cl', { data: null })),
  apply(`${CORE}/configmaps/cl`, 'fieldManager=b', configMap('cl', { data: { a: null } })),
  apply(`${CORE}/configmaps/cl`, 'fieldManager=b', configMap('cl', { immutable: true })),
  apply(`${CORE}/configmaps/cl`, 'fieldManager=b', configMap('cl', { data: { d: '4' } })),
  get(`${CORE}/configmaps/cl`),
  remove(`${CORE}/configmaps/cl`),
];

const EVENTS = `${CORE}/events`;
const NEW_EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const TIME = '2026-01-02T03:04:05Z';
const MICRO = '2026-01-02T03:04:05.123456Z';
const coreEvent = (more: object): object => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'cl' },
  involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
  reason: 'R',
  message: 'm',
  type: 'Normal',
  ...more,
});
const newEvent = (more: object): object => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'cl' },
  regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
  reason: 'R',
  note: 'm',
  type: 'Normal',
  eventTime: MICRO,
  action: 'A',
  reportingController: 'example.com/c',
  reportingInstance: 'i',
  ...more,
});

const events: readonly Call[] = [
  ...[
    {},
    { involvedObject: {} },
    { involvedObject: { kind: 'Node', name: 'n' } },
    { involvedObject: { kind: 'Node', name: 'n', namespace: 'default' } },
    { involvedObject: { kind: 'Pod', name: 'p', namespace: 'other' } },
    { involvedObject: { kind: 'Pod', name: 'p' } },
    { involvedObject: { apiVersion: 'x/y/z', kind: 'Pod', name: 'p', namespace: 'default' } },
    { reason: '', type: '', message: 'x'.repeat(2000) },
    { eventTime: MICRO },
    { eventTime: MICRO, reportingComponent: 'x', reportingInstance: 'y', action: 'z' },
    {
      eventTime: MICRO,
      reportingComponent: 'A_',
      reportingInstance: 'y'.repeat(200),
      action: 'z'.repeat(200),
    },
    { firstTimestamp: TIME, lastTimestamp: TIME, count: 3, source: { component: 'c', host: 'h' } },
    { firstTimestamp: 'x' },
    { series: { count: 1, lastObservedTime: MICRO } },
    { type: 'Other' },
    { metadata: { generateName: 'cl-' }, eventTime: MICRO },
  ].map((more) => ({
    ...post(`${EVENTS}?dryRun=All`, coreEvent(more)),
    ...('metadata' in more && { contentDiffers: 'the name has random letters' }),
  })),
  ...[
    {},
    { eventTime: null },
    { eventTime: '2026-01-02T03:04:05Z' },
    { reportingController: '', reportingInstance: '', action: '', reason: '' },
    { reportingController: 'A_', reportingInstance: 'y'.repeat(200), action: 'z'.repeat(200) },
    { type: 'Other', note: 'x'.repeat(1025) },
    { series: { count: 0 } },
    { series: { count: 2, lastObservedTime: MICRO } },
    { deprecatedCount: 1, deprecatedFirstTimestamp: TIME, deprecatedSource: { component: 'c' } },
    { regarding: {} },
    { regarding: { kind: 'Pod', name: 'p', namespace: 'other' } },
    { related: { kind: 'Node', name: 'n' } },
  ].map((more) => post(`${NEW_EVENTS}?dryRun=All`, newEvent(more))),
  post(EVENTS, coreEvent({ count: 1, firstTimestamp: TIME, lastTimestamp: TIME })),
  get(`${NEW_EVENTS}/cl`),
  get(`${EVENTS}/cl`, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  get(`${NEW_EVENTS}/cl`, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  patch(`${EVENTS}/cl`, { count: 2, lastTimestamp: '2026-01-02T03:05:05Z' }),
  patch(`${EVENTS}/cl`, { count: 3 }, STRATEGIC),
  patch(`${NEW_EVENTS}/cl`, { note: 'other' }),
  patch(`${NEW_EVENTS}/cl`, { series: { count: 2, lastObservedTime: MICRO } }),
  put(`${EVENTS}/cl`, coreEvent({ reason: 'Other' })),
  remove(`${EVENTS}/cl`),
  post(NEW_EVENTS, newEvent({})),
  get(`${EVENTS}/cl`),
  patch(`${NEW_EVENTS}/cl`, { series: { count: 2, lastObservedTime: MICRO } }),
  patch(`${NEW_EVENTS}/cl`, { reason: 'Other', action: 'B', note: 'n' }),
  patch(`${EVENTS}/cl`, { message: 'changed' }),
  get(`${EVENTS}?fieldSelector=involvedObject.name%3Dp,reason%3DR`),
  get(`${NEW_EVENTS}?fieldSelector=regarding.name%3Dp,type%3DNormal`),
  get(`${NEW_EVENTS}?fieldSelector=reportingController%3Dexample.com%2Fc`),
  get(`${EVENTS}?fieldSelector=reportingComponent%3Dexample.com%2Fc`),
  remove(`${NEW_EVENTS}?fieldSelector=metadata.name%3Dcl`),
];

export const clientCalls: readonly Call[] = [
  ...manifests,
  ...strategicLists,
  ...jsonTests,
  ...keys,
  ...events,
];
