import { complete, type Container, type PodSandbox } from '#cri/index.ts';
import { expect, test } from 'vitest';
import { makePod } from '../testing/make-pod.ts';
import type { Pod, PodSpec, PodStatus } from '../types.ts';
import { hasOnlyRunning, isAtRest, isQuietChange, type NodeContent, outlineOf } from './at-rest.ts';

const HOST_IP = '192.168.0.5';
const NAMES = ['pod-1', 'pod-2'];

function status(name: string, changes: Partial<PodStatus> = {}): PodStatus {
  return {
    observedGeneration: 1,
    phase: 'Running',
    hostIP: HOST_IP,
    conditions: ['Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
    containerStatuses: [
      {
        name: 'main',
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        lastState: {},
        ready: true,
        started: true,
        restartCount: 0,
        image: 'busybox:1.36',
        imageID: 'busybox:1.36',
        containerID: `simulated://${name}-main`,
      },
    ],
    ...changes,
  } as PodStatus;
}

function pod(name: string, changes: { spec?: Partial<PodSpec>; status?: PodStatus } = {}): Pod {
  return makePod({
    metadata: { name, uid: name },
    ...(changes.spec !== undefined && { spec: changes.spec }),
    status: changes.status ?? status(name),
  });
}

const sandbox = (name: string, state: PodSandbox['state'] = 'SANDBOX_READY'): PodSandbox =>
  complete('PodSandbox', {
    id: name,
    state,
    metadata: { name, namespace: 'default', uid: name, attempt: 0 },
  });

const container = (name: string, state: Container['state'] = 'CONTAINER_RUNNING'): Container =>
  complete('Container', {
    id: `${name}-main`,
    podSandboxId: name,
    state,
  });

/** Two pods that run, and what a test changes. */
function content({
  sandboxes = NAMES.map((name) => sandbox(name)),
  containers = NAMES.map((name) => container(name)),
  ...changes
}: Partial<NodeContent> & {
  readonly sandboxes?: readonly PodSandbox[];
  readonly containers?: readonly Container[];
} = {}): NodeContent {
  return {
    pods: NAMES.map((name) => pod(name)),
    running: outlineOf(sandboxes, containers),
    runtimeName: 'simulated',
    hostIP: HOST_IP,
    ...changes,
  };
}

const withPod = (changes: Parameters<typeof pod>[1]): NodeContent =>
  content({ pods: [pod('pod-1'), pod('pod-2', changes)] });

const withContainer = (changes: Partial<NonNullable<PodSpec['containers'][number]>>) =>
  withPod({
    spec: {
      containers: [
        { name: 'main', image: 'i', imagePullPolicy: 'Always', resources: {}, ...changes },
      ],
    },
  });

const withVolume = (volume: object): NodeContent =>
  withPod({ spec: { volumes: [{ name: 'v', ...volume }] as unknown as PodSpec['volumes'] } });

test.each<readonly [string, NodeContent]>([
  ['no pods', content({ pods: [], sandboxes: [], containers: [] })],
  ['pods that run as reported', content()],
  ['volumes of objects', withVolume({ configMap: { name: 'c' } })],
  [
    'the volume of a ServiceAccount',
    withVolume({
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token' } },
          { configMap: { name: 'kube-root-ca.crt' } },
          { downwardAPI: { items: [] } },
        ],
      },
    }),
  ],
])('at rest: %s', (_, node) => {
  expect(isAtRest(node)).toBe(true);
});

const running = status('pod-2').containerStatuses?.[0];

test.each<readonly [string, NodeContent]>([
  ['a pod that does not run yet', content({ sandboxes: [], containers: [] })],
  ['a pod that is gone from the API', content({ pods: [pod('pod-1')] })],
  [
    'a container that has ended',
    content({
      containers: NAMES.map((name, i) =>
        container(name, i === 0 ? 'CONTAINER_EXITED' : 'CONTAINER_RUNNING'),
      ),
    }),
  ],
  ['a container that is missing', content({ containers: [container('pod-1')] })],
  [
    'a container too many',
    content({ containers: [...NAMES, 'pod-3'].map((name) => container(name)) }),
  ],
  [
    'a sandbox that is not ready',
    content({ sandboxes: [sandbox('pod-1'), sandbox('pod-2', 'SANDBOX_NOTREADY')] }),
  ],
  [
    'two sandboxes of a pod',
    content({ sandboxes: ['pod-1', 'pod-1'].map((name) => sandbox(name)) }),
  ],
  ['another address of the node', content({ hostIP: '192.168.0.6' })],
  ['containers of another runtime', content({ runtimeName: 'containerd' })],
  [
    'the containers of two pods exchanged',
    content({
      containers: [
        container('pod-1'),
        complete('Container', { ...container('pod-2'), podSandboxId: 'pod-1' }),
      ],
    }),
  ],
  ['a pod that is pending', withPod({ status: status('pod-2', { phase: 'Pending' }) })],
  ['a pod that has ended', withPod({ status: status('pod-2', { phase: 'Succeeded' }) })],
  [
    'a generation that was not observed',
    withPod({ status: status('pod-2', { observedGeneration: 0 }) }),
  ],
  [
    'a container that is not ready',
    withPod({ status: status('pod-2', { containerStatuses: [{ ...running!, ready: false }] }) }),
  ],
  [
    'a container that waits',
    withPod({
      status: status('pod-2', { containerStatuses: [{ ...running!, state: { waiting: {} } }] }),
    }),
  ],
  ['a pod that is not ready', withPod({ status: status('pod-2', { conditions: [] }) })],
  [
    'a resize',
    withPod({
      status: status('pod-2', {
        conditions: [
          ...(status('pod-2').conditions ?? []),
          {
            type: 'PodResizeInProgress',
            status: 'True',
            lastProbeTime: null,
            lastTransitionTime: null,
          },
        ],
      }),
    }),
  ],
  ['a deadline', withPod({ spec: { activeDeadlineSeconds: 5 } })],
  ['init containers', withPod({ spec: { initContainers: makePod().spec.containers } })],
  ['readiness gates', withPod({ spec: { readinessGates: [{ conditionType: 'x' }] } })],
  ['claims', withPod({ spec: { resourceClaims: [{ name: 'c' }] } })],
  ['a liveness probe', withContainer({ livenessProbe: { exec: { command: ['true'] } } })],
  ['a readiness probe', withContainer({ readinessProbe: { exec: { command: ['true'] } } })],
  ['a startup probe', withContainer({ startupProbe: { exec: { command: ['true'] } } })],
  ['a volume of a driver', withVolume({ csi: { driver: 'd' } })],
  ['a claimed volume', withVolume({ persistentVolumeClaim: { claimName: 'c' } })],
  [
    'an unknown source of a volume',
    withVolume({ projected: { sources: [{ clusterTrustBundle: {} }] } }),
  ],
])('work: %s', (_, node) => {
  expect(isAtRest(node)).toBe(false);
});

test('work: a pod that is being deleted, and a mirror pod', () => {
  const [first, second] = content().pods;
  for (const metadata of [
    { ...second!.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    { ...second!.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } },
  ])
    expect(isAtRest(content({ pods: [first!, { ...second!, metadata }] }))).toBe(false);
});

test('a change of labels is quiet, unless a volume shows them', () => {
  const before = pod('pod-1');
  const labelled = { ...before, metadata: { ...before.metadata, labels: { a: 'b' } } };
  expect(isQuietChange(before, labelled)).toBe(true);
  const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
  for (const volume of [
    { name: 'v', downwardAPI: { items } },
    { name: 'v', projected: { sources: [{ downwardAPI: { items } }] } },
  ]) {
    const spec = { ...before.spec, volumes: [volume] };
    expect(isQuietChange({ ...before, spec }, { ...labelled, spec })).toBe(false);
  }
});

test('any other change is not quiet', () => {
  const before = pod('pod-1');
  const deleted = {
    ...before,
    metadata: { ...before.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  const replaced = { ...before, metadata: { ...before.metadata, uid: 'another' } };
  const others = [
    deleted,
    replaced,
    { ...before, spec: { ...before.spec, terminationGracePeriodSeconds: 1 } },
    { ...before, status: { ...before.status, message: 'another client was here' } },
    { ...before, status: { ...before.status, phase: 'Failed' as const } },
  ];
  expect(others.map((after) => isQuietChange(before, after))).toEqual(others.map(() => false));
});

test('only running: a sandbox for each pod, and no ended container', () => {
  const sandboxes = NAMES.map((name) => sandbox(name));
  const containers = NAMES.map((name) => container(name));
  const ready = outlineOf(sandboxes, containers);
  expect(hasOnlyRunning(2, ready)).toBe(true);
  expect(hasOnlyRunning(1, ready)).toBe(false);
  const stopped = [sandbox('pod-1'), sandbox('pod-2', 'SANDBOX_NOTREADY')];
  expect(hasOnlyRunning(2, outlineOf(stopped, []))).toBe(false);
  const exited = [container('pod-1', 'CONTAINER_EXITED')];
  expect(hasOnlyRunning(2, outlineOf(sandboxes, exited))).toBe(false);
});
