// Server-side apply across subresources and versions: who owns what after writes to the object, its
// status, scale, resize and finalize, and which conflicts that makes.

import {
  apply,
  APPS,
  type Call,
  CORE,
  deployment,
  get,
  patch,
  pod,
  post,
  put,
  remove,
  send,
  STRATEGIC,
} from './call.ts';

const D = `${APPS}/deployments/own`;
const P = `${CORE}/pods/own`;
const S = `${CORE}/services/own`;
const N = '/api/v1/nodes/own';
const J = '/apis/batch/v1/namespaces/default/jobs/own';
const V1 = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
const V2 = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const object = (apiVersion: string, kind: string, more: object): object => ({
  apiVersion,
  kind,
  metadata: { name: 'own' },
  ...more,
});
const scale = (replicas: number): object =>
  object('autoscaling/v1', 'Scale', { spec: { replicas } });
const ofDeployment = (more: object): object => object('apps/v1', 'Deployment', more);
const conditions = (...types: readonly string[]): object => ({
  status: {
    conditions: types.map((type) => ({ type, status: 'True', reason: 'R', message: 'm' })),
  },
});

const deployments: readonly Call[] = [
  apply(D, 'fieldManager=a', deployment('own')),
  // The scale changes who owns replicas.
  put(`${D}/scale?fieldManager=scaler`, scale(5)),
  get(D),
  apply(D, 'fieldManager=a', deployment('own')),
  apply(D, 'fieldManager=a&force=true', deployment('own')),
  apply(`${D}/scale`, 'fieldManager=scaler', scale(2)),
  apply(`${D}/scale`, 'fieldManager=scaler', scale(7)),
  apply(`${D}/scale`, 'fieldManager=scaler&force=true', scale(7)),
  get(D),
  get(`${D}/scale`),
  apply(D, 'fieldManager=a', deployment('own', { replicas: 7 })),
  apply(`${D}/scale`, 'fieldManager=scaler', object('autoscaling/v1', 'Scale', {})),
  apply(D, 'fieldManager=scaler', ofDeployment({ spec: { replicas: 7 } })),
  apply(D, 'fieldManager=a', deployment('own', { replicas: undefined })),
  get(D),
  patch(`${D}/scale?fieldManager=p`, { spec: { replicas: 1 } }),
  // The status has owners of its own, also with the same name.
  apply(`${D}/status`, 'fieldManager=a', ofDeployment(conditions('A', 'B'))),
  apply(`${D}/status`, 'fieldManager=b', ofDeployment(conditions('B', 'C'))),
  apply(
    `${D}/status`,
    'fieldManager=b',
    ofDeployment({ status: { conditions: [{ type: 'A', status: 'False' }] } }),
  ),
  apply(`${D}/status`, 'fieldManager=b&force=true', ofDeployment(conditions('A'))),
  apply(`${D}/status`, 'fieldManager=a', ofDeployment({})),
  apply(D, 'fieldManager=a', ofDeployment({ ...conditions('D'), spec: {} })),
  patch(`${D}/status?fieldManager=a`, { status: { replicas: 3 }, spec: { replicas: 44 } }),
  patch(`${D}/status?fieldManager=a`, conditions('E')),
  apply(
    `${D}/status`,
    'fieldManager=c',
    ofDeployment({ metadata: { name: 'own', labels: { c: 'd' } } }),
  ),
  get(D),
  // The owner of a list's item, of its key, and of a leaf in it.
  apply(
    D,
    'fieldManager=item',
    ofDeployment({
      spec: {
        template: { spec: { containers: [{ name: 'c', env: [{ name: 'E', value: '1' }] }] } },
      },
    }),
  ),
  patch(
    `${D}?fieldManager=smp`,
    {
      spec: {
        template: { spec: { containers: [{ name: 'c', env: [{ name: 'E', value: '2' }] }] } },
      },
    },
    STRATEGIC,
  ),
  apply(
    D,
    'fieldManager=item',
    ofDeployment({
      spec: {
        template: { spec: { containers: [{ name: 'c', env: [{ name: 'E', value: '3' }] }] } },
      },
    }),
  ),
  apply(
    D,
    'fieldManager=item',
    ofDeployment({ spec: { template: { spec: { containers: [{ name: 'c' }] } } } }),
  ),
  apply(D, 'fieldManager=item', ofDeployment({ spec: { template: { spec: { containers: [] } } } })),
  apply(
    D,
    'fieldManager=valueFrom',
    ofDeployment({
      spec: {
        template: {
          spec: {
            containers: [
              {
                name: 'c',
                env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
              },
            ],
          },
        },
      },
    }),
  ),
  send(
    'PATCH',
    `${D}?fieldManager=json`,
    [{ op: 'remove', path: '/spec/template/spec/containers/0/env' }],
    'application/json-patch+json',
  ),
  get(D),
  put(`${D}?fieldManager=owner`, deployment('own', { replicas: 1 })),
  apply(D, 'fieldManager=a', deployment('own', { replicas: 2 })),
  get(D),
  remove(D),
];

const pods: readonly Call[] = [
  apply(
    P,
    'fieldManager=a',
    pod('own', { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] }),
  ),
  apply(
    `${P}/resize`,
    'fieldManager=r',
    object('v1', 'Pod', {
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] },
    }),
  ),
  apply(
    `${P}/resize`,
    'fieldManager=r&force=true',
    object('v1', 'Pod', {
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] },
    }),
  ),
  get(P),
  apply(
    `${P}/ephemeralcontainers`,
    'fieldManager=e',
    object('v1', 'Pod', { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } }),
  ),
  apply(
    `${P}/status`,
    'fieldManager=k',
    object('v1', 'Pod', {
      status: {
        phase: 'Running',
        podIPs: [{ ip: '10.1.1.1' }],
        ...(conditions('Ready') as { status: object }).status,
      },
    }),
  ),
  apply(
    `${P}/status`,
    'fieldManager=l',
    object('v1', 'Pod', { status: { phase: 'Failed', podIPs: [{ ip: '10.1.1.2' }] } }),
  ),
  apply(
    P,
    'fieldManager=b',
    object('v1', 'Pod', { spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } }),
  ),
  apply(
    P,
    'fieldManager=b',
    object('v1', 'Pod', { metadata: { name: 'own', finalizers: ['example.com/a'] } }),
  ),
  patch(P, { metadata: { finalizers: ['example.com/b', 'example.com/a'] } }),
  apply(P, 'fieldManager=b', object('v1', 'Pod', {})),
  get(P),
  patch(P, { metadata: { finalizers: null } }),
  remove(`${P}?gracePeriodSeconds=0`),
];

const others: readonly Call[] = [
  apply(
    S,
    'fieldManager=a',
    object('v1', 'Service', { spec: { ports: [{ port: 80 }], type: 'LoadBalancer' } }),
  ),
  apply(
    `${S}/status`,
    'fieldManager=lb',
    object('v1', 'Service', { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }),
  ),
  apply(
    `${S}/status`,
    'fieldManager=other',
    object('v1', 'Service', { status: { loadBalancer: { ingress: [{ ip: '1.2.3.5' }] } } }),
  ),
  apply(
    S,
    'fieldManager=b',
    object('v1', 'Service', { spec: { ports: [{ port: 80, protocol: 'UDP', name: 'u' }] } }),
  ),
  apply(
    S,
    'fieldManager=b',
    object('v1', 'Service', { spec: { ports: [{ port: 80, protocol: 'TCP', name: 't' }] } }),
  ),
  apply(S, 'fieldManager=a', object('v1', 'Service', { spec: { type: 'ClusterIP' } })),
  get(S),
  remove(S),
  post('/api/v1/nodes?fieldManager=first', object('v1', 'Node', {})),
  apply(
    N,
    'fieldManager=a',
    object('v1', 'Node', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }),
  ),
  apply(
    N,
    'fieldManager=b',
    object('v1', 'Node', { spec: { taints: [{ key: 'a', effect: 'NoExecute' }] } }),
  ),
  apply(N, 'fieldManager=b', object('v1', 'Node', { spec: { podCIDRs: ['10.1.0.0/24'] } })),
  apply(
    `${N}/status`,
    'fieldManager=k',
    object('v1', 'Node', {
      status: {
        addresses: [
          { type: 'InternalIP', address: '1.1.1.1' },
          { type: 'InternalIP', address: '1.1.1.2' },
        ],
      },
    }),
  ),
  get(N),
  remove(N),
  apply(
    J,
    'fieldManager=a',
    object('batch/v1', 'Job', {
      spec: {
        suspend: true,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
      },
    }),
  ),
  apply(J, 'fieldManager=b', object('batch/v1', 'Job', { spec: { suspend: false } })),
  apply(J, 'fieldManager=b&force=true', object('batch/v1', 'Job', { spec: { suspend: false } })),
  apply(
    `${J}/status`,
    'fieldManager=c',
    object('batch/v1', 'Job', {
      status: { active: 1, uncountedTerminatedPods: { succeeded: ['u1'] } },
    }),
  ),
  apply(
    `${J}/status`,
    'fieldManager=d',
    object('batch/v1', 'Job', { status: { uncountedTerminatedPods: { succeeded: ['u2'] } } }),
  ),
  get(J),
  remove(`${J}?propagationPolicy=Background`),
];

const autoscaler = (apiVersion: string, spec: object): object =>
  object(`autoscaling/${apiVersion}`, 'HorizontalPodAutoscaler', {
    spec: {
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      ...spec,
    },
  });
const cpu = (averageUtilization: number): object => ({
  metrics: [
    {
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
    },
  ],
});
const versions: readonly Call[] = [
  apply(`${V1}/own`, 'fieldManager=one', autoscaler('v1', { targetCPUUtilizationPercentage: 80 })),
  apply(`${V2}/own`, 'fieldManager=two', autoscaler('v2', cpu(80))),
  apply(`${V2}/own`, 'fieldManager=two', autoscaler('v2', cpu(50))),
  apply(`${V1}/own`, 'fieldManager=one', autoscaler('v1', { targetCPUUtilizationPercentage: 70 })),
  apply(
    `${V2}/own`,
    'fieldManager=two&force=true',
    autoscaler('v2', { ...cpu(50), minReplicas: 2 }),
  ),
  apply(`${V1}/own`, 'fieldManager=one', autoscaler('v1', { minReplicas: 1 })),
  apply(`${V1}/own`, 'fieldManager=two', autoscaler('v1', { minReplicas: 3 })),
  get(`${V1}/own`),
  get(`${V2}/own`),
  patch(`${V1}/own?fieldManager=patcher`, { spec: { maxReplicas: 9 } }),
  apply(`${V2}/own`, 'fieldManager=two', autoscaler('v2', {})),
  get(`${V2}/own`),
  remove(`${V1}/own`),
  post('/api/v1/namespaces/default/events?fieldManager=core', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'own' },
    involvedObject: { namespace: 'default', kind: 'Pod', name: 'p' },
    reason: 'R',
    type: 'Normal',
  }),
  apply(
    '/apis/events.k8s.io/v1/namespaces/default/events/own',
    'fieldManager=new',
    object('events.k8s.io/v1', 'Event', { note: 'n', reason: 'S' }),
  ),
  get('/api/v1/namespaces/default/events/own'),
  get('/apis/events.k8s.io/v1/namespaces/default/events/own'),
  remove('/api/v1/namespaces/default/events/own'),
];

export const ownershipCalls: readonly Call[] = [...deployments, ...pods, ...others, ...versions];
