// Tables of objects with full statuses: each object gets one status after the other, and its row is
// read each time.

import { APPS, type Call, CORE, deployment, get, patch, podSpec, post, remove } from './call.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const BATCH = '/apis/batch/v1/namespaces/default';
const PAST = '2026-01-01T00:00:00Z';
const LATER = '2026-01-01T01:02:03Z';
const NAME = 'tab';

/** A row: the collection, the kind with its version, the content, and statuses one by one. */
export interface Row {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly content?: object;
  /** Merge patches of the status. */
  readonly statuses?: readonly object[];
  /** Merge patches of the object. */
  readonly changes?: readonly object[];
  readonly metadata?: object;
}

/** Returns the calls of a row. */
export function rowCalls({
  path,
  apiVersion,
  kind,
  content,
  metadata,
  statuses = [],
  changes = [],
}: Row): readonly Call[] {
  const at = `${path}/${NAME}`;
  return [
    post(path, { apiVersion, kind, metadata: { name: NAME, ...metadata }, ...content }),
    get(at, TABLE),
    ...changes.flatMap((change) => [patch(at, change), get(at, TABLE)]),
    ...statuses.flatMap((status) => [patch(`${at}/status`, { status }), get(at, TABLE)]),
    remove(`${at}?gracePeriodSeconds=0`),
  ];
}

const container = (state: object, more: object = {}): object => ({
  name: 'c',
  image: 'busybox',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const running = { running: { startedAt: PAST } };
const ended = (more: object): object => ({
  terminated: { startedAt: PAST, finishedAt: LATER, ...more },
});
export const condition = (type: string, status: string, more: object = {}): object => ({
  type,
  status,
  lastTransitionTime: PAST,
  reason: 'R',
  message: 'm',
  ...more,
});

const pods: readonly Row[] = [
  {
    path: `${CORE}/pods`,
    apiVersion: 'v1',
    kind: 'Pod',
    content: {
      spec: podSpec({
        initContainers: [
          { name: 'i', image: 'busybox' },
          { name: 's', image: 'busybox', restartPolicy: 'Always' },
        ],
        readinessGates: [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }],
        schedulingGates: [{ name: 'example.com/gate' }],
      }),
    },
    changes: [{ spec: { schedulingGates: [] } }],
    statuses: [
      { phase: 'Pending', conditions: [condition('PodScheduled', 'False')] },
      {
        phase: 'Pending',
        conditions: [condition('PodScheduled', 'False', { reason: 'SchedulingGated' })],
      },
      {
        conditions: [condition('example.com/a', 'True')],
        initContainerStatuses: [
          container({ waiting: { reason: 'PodInitializing' } }, { name: 'i' }),
          container({ waiting: { reason: 'PodInitializing' } }, { name: 's' }),
        ],
        containerStatuses: [container({ waiting: { reason: 'PodInitializing' } })],
      },
      {
        initContainerStatuses: [
          container(ended({ exitCode: 3 }), { name: 'i', restartCount: 2 }),
          container({ waiting: {} }, { name: 's' }),
        ],
      },
      {
        initContainerStatuses: [
          container(ended({ exitCode: 0, reason: 'Completed' }), { name: 'i' }),
          container(running, { name: 's', started: false }),
        ],
      },
      {
        phase: 'Running',
        conditions: [condition('example.com/a', 'True'), condition('Initialized', 'True')],
        podIP: '10.1.2.3',
        podIPs: [{ ip: '10.1.2.3' }, { ip: 'fd00::1' }],
        nominatedNodeName: 'n1',
        initContainerStatuses: [
          container(ended({ exitCode: 0, reason: 'Completed' }), { name: 'i' }),
          container(running, { name: 's', started: true, ready: true, restartCount: 1 }),
        ],
        containerStatuses: [
          container(running, {
            ready: true,
            restartCount: 4,
            lastState: ended({ exitCode: 1, reason: 'Error' }),
          }),
        ],
      },
      { containerStatuses: [container(ended({ exitCode: 137, signal: 9 }))] },
      { containerStatuses: [container(ended({ exitCode: 0, reason: 'Completed' }))] },
      { phase: 'Failed', reason: 'Evicted', message: 'm' },
      { phase: 'Succeeded', reason: null },
    ],
  },
];

const nodes: readonly Row[] = [
  {
    path: '/api/v1/nodes',
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      labels: {
        'node-role.kubernetes.io/control-plane': '',
        'node-role.kubernetes.io/worker': '',
        'kubernetes.io/role': 'old',
      },
    },
    changes: [{ spec: { unschedulable: true } }],
    statuses: [
      { conditions: [condition('Ready', 'Unknown')] },
      { conditions: [condition('Ready', 'False'), condition('MemoryPressure', 'True')] },
      {
        conditions: [condition('Ready', 'True'), condition('Other', 'True')],
        addresses: [
          { type: 'Hostname', address: 'h' },
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: 'fd00::2' },
          { type: 'ExternalIP', address: '1.2.3.4' },
        ],
        nodeInfo: {
          kubeletVersion: 'v1.36.3',
          osImage: 'Linux',
          kernelVersion: '6.1',
          containerRuntimeVersion: 'containerd://2.0',
        },
      },
    ],
  },
];

const jobSpec = (more: object = {}): object => ({
  spec: { template: { spec: podSpec({ restartPolicy: 'Never' }) }, ...more },
});
const job = (more: object, statuses: readonly object[]): Row => ({
  path: `${BATCH}/jobs`,
  apiVersion: 'batch/v1',
  kind: 'Job',
  content: jobSpec(more),
  statuses,
});
const jobs: readonly Row[] = [
  job({ completions: 3, parallelism: 2 }, [
    { startTime: PAST, active: 2, succeeded: 1 },
    { conditions: [condition('SuccessCriteriaMet', 'True')] },
    {
      active: 0,
      succeeded: 3,
      completionTime: LATER,
      conditions: [condition('SuccessCriteriaMet', 'True'), condition('Complete', 'True')],
    },
  ]),
  job({ parallelism: 3 }, [{ startTime: PAST, active: 3 }]),
  job({ suspend: true }, [
    { conditions: [condition('Suspended', 'True')] },
    { startTime: PAST, conditions: [condition('FailureTarget', 'True')] },
    { failed: 1, conditions: [condition('FailureTarget', 'True'), condition('Failed', 'True')] },
  ]),
  {
    path: `${BATCH}/cronjobs`,
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    content: { spec: { schedule: '* * * * *', jobTemplate: jobSpec(), timeZone: 'Etc/UTC' } },
    changes: [{ spec: { suspend: true } }],
    statuses: [
      { active: [{ kind: 'Job', name: 'a' }], lastScheduleTime: PAST, lastSuccessfulTime: PAST },
    ],
  },
];

const selector = {
  matchLabels: { app: NAME },
  matchExpressions: [{ key: 'a', operator: 'Exists' }],
};
const template = {
  metadata: { labels: { app: NAME, a: 'b' } },
  spec: podSpec({
    containers: [
      { name: 'c', image: 'busybox' },
      { name: 'd', image: 'nginx:1' },
    ],
  }),
};
const counts = {
  observedGeneration: 1,
  replicas: 3,
  readyReplicas: 2,
  availableReplicas: 1,
};
const workload = (
  kind: string,
  plural: string,
  more: object,
  statuses: readonly object[],
): Row => ({
  path: `${APPS}/${plural}`,
  apiVersion: 'apps/v1',
  kind,
  content: { spec: { selector, template, ...more } },
  statuses,
});
const workloads: readonly Row[] = [
  workload('Deployment', 'deployments', { replicas: 3 }, [
    { ...counts, updatedReplicas: 3, unavailableReplicas: 2 },
  ]),
  workload('ReplicaSet', 'replicasets', { replicas: 3 }, [counts]),
  workload('StatefulSet', 'statefulsets', { replicas: 3, serviceName: 's' }, [
    { ...counts, currentReplicas: 1, updatedReplicas: 1, currentRevision: 'a' },
  ]),
  workload('DaemonSet', 'daemonsets', {}, [
    {
      currentNumberScheduled: 1,
      desiredNumberScheduled: 2,
      numberMisscheduled: 0,
      numberReady: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
    },
  ]),
  {
    path: `${CORE}/replicationcontrollers`,
    apiVersion: 'v1',
    kind: 'ReplicationController',
    content: { spec: { selector: { app: NAME, a: 'b' }, template, replicas: 2 } },
    statuses: [counts],
  },
  {
    path: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    content: { spec: { selector, maxUnavailable: '30%' } },
    statuses: [{ currentHealthy: 1, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 4 }],
  },
];

const metric = (type: string, source: object): object => ({
  type,
  [type[0]!.toLowerCase() + type.slice(1)]: source,
});
const metrics = [
  metric('Resource', { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } }),
  metric('Resource', { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } }),
  metric('ContainerResource', {
    name: 'cpu',
    container: 'c',
    target: { type: 'Utilization', averageUtilization: 70 },
  }),
  metric('Pods', {
    metric: { name: 'p' },
    target: { type: 'AverageValue', averageValue: '1500m' },
  }),
  metric('Object', {
    metric: { name: 'o' },
    describedObject: { kind: 'Service', name: 's' },
    target: { type: 'Value', value: '3' },
  }),
  metric('External', { metric: { name: 'e' }, target: { type: 'Value', value: '7k' } }),
];
const current = [
  metric('Resource', { name: 'cpu', current: { averageUtilization: 10, averageValue: '100m' } }),
  metric('Resource', { name: 'memory', current: { averageValue: '512Mi' } }),
  metric('ContainerResource', {
    name: 'cpu',
    container: 'c',
    current: { averageUtilization: 20, averageValue: '1' },
  }),
  metric('Pods', { metric: { name: 'p' }, current: { averageValue: '2500m' } }),
  metric('Object', {
    metric: { name: 'o' },
    describedObject: { kind: 'Service', name: 's' },
    current: { value: '5' },
  }),
  metric('External', { metric: { name: 'e' }, current: { value: '6k' } }),
];
const autoscaler = (some: readonly object[], statuses: readonly object[]): Row => ({
  path: '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  content: {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      maxReplicas: 5,
      metrics: some,
    },
  },
  statuses,
});
const autoscalers: readonly Row[] = [
  autoscaler(metrics.slice(0, 1), [{ currentReplicas: 2, currentMetrics: current.slice(0, 1) }]),
  autoscaler(metrics.slice(1, 3), [{ currentReplicas: 2, currentMetrics: current.slice(1, 3) }]),
  autoscaler(metrics.slice(3), [
    { currentReplicas: 2, desiredReplicas: 3, currentMetrics: current.slice(3) },
  ]),
  autoscaler(metrics, [{ currentReplicas: 2, desiredReplicas: 3, currentMetrics: current }]),
];

const service = (spec: object, statuses: readonly object[] = []): Row => ({
  path: `${CORE}/services`,
  apiVersion: 'v1',
  kind: 'Service',
  content: { spec },
  statuses,
});
const ports = [
  { name: 'a', port: 80 },
  { name: 'b', port: 53, protocol: 'UDP' },
];
const addresses = {
  loadBalancer: { ingress: [{ ip: '1.2.3.4' }, { hostname: 'lb.example.com' }] },
};
const networking: readonly Row[] = [
  service({ ports, selector: { b: 'c', a: 'b' }, externalIPs: ['9.9.9.9', '8.8.8.8'] }),
  service({ ports, clusterIP: 'None' }),
  service({ ports, type: 'NodePort' }),
  service({ type: 'ExternalName', externalName: 'example.com' }),
  service({ ports, type: 'LoadBalancer', externalIPs: ['9.9.9.9'] }, [addresses]),
  {
    path: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    content: {
      spec: {
        ingressClassName: 'c',
        tls: [{ hosts: ['a.example.com'] }],
        defaultBackend: { service: { name: 's', port: { number: 80 } } },
        rules: ['a', 'b', 'c', 'd'].map((host) => ({ host: `${host}.example.com` })),
      },
    },
    statuses: [addresses],
  },
  {
    path: `${CORE}/endpoints`,
    apiVersion: 'v1',
    kind: 'Endpoints',
    content: {
      subsets: [
        {
          addresses: ['1', '2', '3', '4'].map((last) => ({ ip: `10.1.2.${last}` })),
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 81 },
          ],
        },
        { addresses: [{ ip: '10.1.3.1' }] },
      ],
    },
  },
  {
    path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    content: {
      addressType: 'IPv4',
      endpoints: ['1', '2', '3', '4'].map((last) => ({ addresses: [`10.1.2.${last}`] })),
      ports: ['a', 'b', 'c', 'd'].map((name, index) => ({ name, port: 80 + index })),
    },
  },
];

export const tableCalls: readonly Call[] = [
  post(`${APPS}/deployments`, deployment('other')),
  get(`${APPS}/deployments`, `${TABLE},application/json`),
  remove(`${APPS}/deployments/other`),
  ...[...pods, ...nodes, ...jobs, ...workloads, ...autoscalers, ...networking].flatMap(rowCalls),
];
