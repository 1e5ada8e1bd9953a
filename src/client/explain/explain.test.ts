// Explanations as texts, from objects as an API server has them.

import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Cause } from './cause.ts';
import { explain } from './explain.ts';
import { type EventObject, ObjectSet } from './object-set.ts';
import { podProblem } from './pod-state.ts';
import type { SchedulingVerdict } from './scheduling.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const LONG_AGO = '2026-03-01T10:00:00Z';

type Parts = Readonly<Record<string, unknown>> & { readonly metadata?: object };

function object(kind: string, name: string, parts: Parts = {}, apiVersion = 'v1'): KubeObject {
  const metadata = {
    name,
    namespace: 'default',
    uid: `${kind}-${name}`,
    creationTimestamp: LONG_AGO,
    ...parts.metadata,
  };
  return { apiVersion, kind, ...parts, metadata } as never;
}

const pod = (name: string, spec: object, status: object, metadata: object = {}): KubeObject =>
  object('Pod', name, {
    metadata,
    spec: { containers: [{ name: 'c' }], ...spec },
    status: { startTime: LONG_AGO, ...status },
  });

const ownedBy = (kind: string, name: string, apiVersion = 'apps/v1') => ({
  ownerReferences: [{ apiVersion, kind, name, uid: `${kind}-${name}`, controller: true }],
});

const event = (about: KubeObject, reason: string, message: string): EventObject =>
  ({
    metadata: { name: `${reason}-${about.metadata.name}`, namespace: 'default' },
    involvedObject: {
      kind: about.kind,
      namespace: 'default',
      name: about.metadata.name,
      uid: about.metadata.uid,
    },
    reason,
    message,
    type: 'Warning',
    lastTimestamp: '2026-03-01T11:59:50Z',
  }) as never;

function setOf(objects: readonly KubeObject[], events: readonly EventObject[] = []): ObjectSet {
  const set = new ObjectSet();
  for (const each of objects) set.add(each);
  for (const each of events) set.addEvent(each);
  return set;
}

/** Lines of the tree, one level of indentation each; info left out unless asked for. */
function lines(tree: Cause, withInfo = false, indent = ''): string[] {
  if (tree.severity === 'info' && !withInfo) return [];
  return [
    `${indent}${tree.severity}: ${tree.text}`,
    ...tree.causes.flatMap((each) => lines(each, withInfo, `${indent}  `)),
  ];
}

const because = (about: KubeObject, set: ObjectSet, scheduling?: Map<string, SchedulingVerdict>) =>
  explain(about, { objects: set, now: NOW, ...(scheduling && { scheduling }) }).because.map(
    ({ text }) => text,
  );

describe('a pod', () => {
  test('that runs is as it should be, with the rules that apply to it', () => {
    const web = pod(
      'web',
      { nodeName: 'n1' },
      {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [{ name: 'c', ready: true, state: { running: {} }, restartCount: 0 }],
      },
      { labels: { app: 'web' } },
    );
    const set = setOf([
      web,
      object(
        'NetworkPolicy',
        'deny',
        { spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] } },
        'networking.k8s.io/v1',
      ),
      object(
        'PodDisruptionBudget',
        'one',
        {
          spec: { selector: { matchLabels: { app: 'web' } } },
          status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 },
        },
        'policy/v1',
      ),
    ]);
    const { tree, because: causes } = explain(web, { objects: set, now: NOW });
    expect(causes).toEqual([]);
    expect(lines(tree, true)).toEqual([
      'ok: pod/web is as it should be',
      '  ok: runs and is ready',
      '  info: pdb/one allows no eviction now: 1 healthy, 1 wanted',
      '  info: networkpolicy/deny restricts its ingress traffic',
    ]);
  });

  test('that crashes leads to how its container ended', () => {
    const crash = pod(
      'crash',
      { nodeName: 'n1' },
      {
        phase: 'Running',
        containerStatuses: [
          {
            name: 'c',
            state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
            lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
          },
        ],
      },
    );
    const set = setOf([crash], [event(crash, 'BackOff', 'Back-off restarting failed container')]);
    expect(because(crash, set)).toEqual([
      'container c has ended with exit code 137 (OOMKilled) before',
    ]);
  });

  test('whose probe fails leads to the event of the probe', () => {
    const slow = pod(
      'slow',
      { nodeName: 'n1', containers: [{ name: 'c', readinessProbe: {} }] },
      {
        phase: 'Running',
        containerStatuses: [{ name: 'c', ready: false, started: true, state: { running: {} } }],
      },
    );
    const set = setOf([slow], [event(slow, 'Unhealthy', 'Readiness probe failed: HTTP 500')]);
    expect(because(slow, set)).toEqual(['Readiness probe failed: HTTP 500 (10s ago)']);
  });

  test('of a secret that is absent names the secret; one that was not read is not blamed', () => {
    const needy = pod(
      'needy',
      { nodeName: 'n1', volumes: [{ name: 'v', secret: { secretName: 'key' } }] },
      {
        phase: 'Pending',
        containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ContainerCreating' } } }],
      },
    );
    const unread = setOf([needy]);
    expect(because(needy, unread)).toEqual([
      'container c is not started yet for 120m (ContainerCreating)',
    ]);
    const read = setOf([needy]);
    read.addAbsent({ group: '', kind: 'Secret', namespace: 'default', name: 'key' });
    expect(because(needy, read)).toEqual(['secret/key, needed by volume v, does not exist']);
  });

  test('without a node leads to the verdict of each plugin', () => {
    const big = pod(
      'big',
      {},
      {
        phase: 'Pending',
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes' },
        ],
      },
    );
    const rejection = (plugin: string, reason: string) => ({
      plugin,
      point: 'Filter',
      code: 'Unschedulable',
      reasons: [reason],
    });
    const verdict: SchedulingVerdict = {
      profile: 'default-scheduler',
      plugins: ['A', 'B'],
      rejections: [],
      nodes: [
        { node: 'n1', rejections: [rejection('A', 'no room')] },
        { node: 'n2', rejections: [rejection('A', 'no room'), rejection('B', 'tainted')] },
      ],
    };
    expect(because(big, setOf([big]), new Map([['Pod-big', verdict]]))).toEqual([
      '2 of 2 nodes: no room (n1, n2)',
      '1 of 2 nodes: tainted (n2)',
    ]);
  });

  test('on a broken node leads to the condition of the node', () => {
    const lost = pod(
      'lost',
      { nodeName: 'n1' },
      {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'False', reason: 'NodeNotReady' }],
        containerStatuses: [{ name: 'c', ready: true, state: { running: {} } }],
      },
    );
    const node = object('Node', 'n1', {
      metadata: { namespace: undefined },
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'Unknown',
            reason: 'NodeStatusUnknown',
            message: 'Kubelet stopped posting node status.',
          },
        ],
      },
    });
    expect(because(lost, setOf([lost, node]))).toEqual([
      'is not healthy: Ready=Unknown (NodeStatusUnknown): Kubelet stopped posting node status.',
    ]);
  });

  test('that does not go away names its finalizers', () => {
    const going = pod(
      'going',
      {},
      { phase: 'Running' },
      {
        deletionTimestamp: '2026-03-01T11:00:00Z',
        finalizers: ['example.com/keep'],
      },
    );
    expect(because(going, setOf([going]))).toEqual([
      'is being deleted since 60m, kept by the finalizers example.com/keep',
    ]);
  });

  test('that ends because it is being deleted has no problem', () => {
    const terminated = { exitCode: 143, reason: 'Error' };
    const going = (deletionTimestamp?: string) =>
      pod(
        'going',
        {},
        {
          phase: 'Failed',
          containerStatuses: [{ name: 'c', ready: false, state: { terminated } }],
        },
        deletionTimestamp === undefined ? {} : { deletionTimestamp },
      );
    const problem = (one: KubeObject) => podProblem(one as Immutable<Pod>, NOW);
    expect(problem(going('2026-03-01T12:00:10Z'))).toMatchObject({
      severity: 'waiting',
      text: 'is being deleted',
    });
    expect(problem(going())).toMatchObject({
      severity: 'problem',
      text: 'has failed: container c has ended with exit code 143',
    });
  });
});

describe('a workload', () => {
  const replicaSet = (extra: Parts = {}) =>
    object(
      'ReplicaSet',
      'web-1',
      {
        metadata: ownedBy('Deployment', 'web'),
        spec: { replicas: 3 },
        status: { replicas: 3 },
        ...extra,
      },
      'apps/v1',
    );
  const deployment = object(
    'Deployment',
    'web',
    { spec: { replicas: 3 }, status: { replicas: 3 } },
    'apps/v1',
  );

  test('shows pods with the same cause once, and its conditions as symptoms', () => {
    const pods = ['web-x', 'web-y', 'web-z'].map((name) =>
      pod(
        name,
        { nodeName: 'n1' },
        {
          phase: 'Pending',
          containerStatuses: [
            {
              name: 'c',
              state: { waiting: { reason: 'ErrImagePull', message: `pod ${name}: not found` } },
            },
          ],
        },
        ownedBy('ReplicaSet', 'web-1'),
      ),
    );
    const bad = {
      ...deployment,
      status: { replicas: 3, conditions: [{ type: 'Available', status: 'False' }] },
    };
    const { tree, because: causes } = explain(bad, {
      objects: setOf([bad, replicaSet(), ...pods]),
      now: NOW,
    });
    expect(lines(tree)).toEqual([
      'problem: deployment/web has a problem',
      '  problem: 0 of 3 pods are ready',
      '    problem: replicaset/web-1 has a problem',
      '      problem: 0 of 3 pods are ready',
      '        problem: 3 times the same, first pod/web-x',
      '          problem: pod/web-x has a problem',
      '            problem: container c: ErrImagePull: pod web-x: not found',
    ]);
    expect(causes).toHaveLength(1);
  });

  test.each([
    ['exceeded quota: q, requested: pods=1', 'a quota rejects it'],
    ['violates PodSecurity "restricted:latest": runAsNonRoot', 'pod security rejects it'],
    ['admission webhook "x" denied the request: no', 'a webhook rejects it'],
    ['Internal error occurred: failed calling webhook "x"', 'a webhook cannot be called'],
    [
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request",
      'an admission policy rejects it',
    ],
  ])('names what rejects its pods: %s', (message, words) => {
    const set = replicaSet({ status: { replicas: 0 } });
    const objects = setOf([set], [event(set, 'FailedCreate', `Error creating: ${message}`)]);
    expect(because(set, objects)).toEqual([`${words}: Error creating: ${message} (10s ago)`]);
  });

  test('knows its owners, and those that are gone', () => {
    const web = pod('a', {}, { phase: 'Running' }, ownedBy('ReplicaSet', 'web-1'));
    const { owners } = explain(web, { objects: setOf([web, replicaSet(), deployment]), now: NOW });
    expect(owners.map(({ text }) => text)).toEqual([
      'replicaset/web-1 has a problem',
      'deployment/web has a problem',
    ]);
    const orphan = setOf([web]);
    orphan.addComplete({ group: 'apps', kind: 'ReplicaSet' }, 'default');
    expect(explain(web, { objects: orphan, now: NOW }).owners[0]?.text).toContain(
      'does not exist any more',
    );
  });

  test('owners in a circle end', () => {
    const a = object(
      'Widget',
      'a',
      { metadata: ownedBy('Widget', 'b', 'example.com/v1') },
      'example.com/v1',
    );
    const b = object(
      'Widget',
      'b',
      { metadata: ownedBy('Widget', 'a', 'example.com/v1') },
      'example.com/v1',
    );
    expect(explain(a, { objects: setOf([a, b]), now: NOW }).tree.severity).toBe('ok');
  });
});

describe('other kinds', () => {
  test('a claim of a class that does not exist', () => {
    const claim = object('PersistentVolumeClaim', 'data', {
      spec: { storageClassName: 'fast' },
      status: { phase: 'Pending' },
    });
    const set = setOf([claim]);
    set.addComplete({ group: 'storage.k8s.io', kind: 'StorageClass' }, '');
    expect(because(claim, set)).toEqual(['is not bound: the storage class fast does not exist']);
  });

  test('a claim for devices: no class, no node with them, devices that fail', () => {
    const claimOf = (status: object) =>
      object(
        'ResourceClaim',
        'gpu',
        {
          spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } },
          status,
        },
        'resource.k8s.io/v1',
      );
    const free = claimOf({});
    const user = pod(
      'trainer',
      { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] },
      {},
    );
    const set = setOf([free, user]);
    expect(because(free, set)).toEqual([
      'has no devices yet: the scheduler has found no node that has them',
    ]);
    expect(because(free, setOf([free]))).toEqual([
      'has no devices: it gets them when a pod that uses it is scheduled',
    ]);
    set.addComplete({ group: 'resource.k8s.io', kind: 'DeviceClass' }, '');
    expect(because(free, set)).toEqual(['has no devices: the device class gpu does not exist']);
    const results = [{ request: 'r', driver: 'gpu.example.com', pool: 'node-1', device: 'gpu-0' }];
    const allocated = { allocation: { devices: { results } } };
    expect(because(claimOf(allocated), setOf([]))).toEqual([]);
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Hot', message: 'too hot' }];
    const broken = claimOf({ ...allocated, devices: [{ ...results[0], conditions }] });
    expect(because(broken, setOf([]))).toEqual(['the device gpu-0 is not ready: too hot']);
  });

  test('a service whose selector is misspelt', () => {
    const service = object('Service', 'web', { spec: { selector: { app: 'webb' } } });
    const set = setOf([service, pod('web-0', {}, {}, { labels: { app: 'web' } })]);
    expect(because(service, set)).toEqual([]);
    set.addComplete({ group: '', kind: 'Pod' }, 'default');
    const { tree } = explain(service, { objects: set, now: NOW });
    expect(lines(tree, true)).toEqual([
      'problem: service/web has a problem',
      '  problem: no pod has the labels app=webb',
      '    info: pod/web-0 has app=web, not app=webb',
    ]);
  });

  test('a quota, and the workload that it keeps from its pods', () => {
    const quota = object('ResourceQuota', 'compute', {
      spec: { hard: { pods: '2', 'requests.cpu': '4' } },
      status: {
        hard: { pods: '2', 'requests.cpu': '4' },
        used: { pods: '2', 'requests.cpu': '1' },
      },
    });
    expect(lines(explain(quota, { objects: setOf([quota]), now: NOW }).tree, true)).toEqual([
      'ok: resourcequota/compute is as it should be',
      '  ok: 1 of 4 requests.cpu are used',
      '  info: 2 of 2 pods are used: more is rejected',
    ]);
    const web = object(
      'ReplicaSet',
      'web',
      { spec: { replicas: 3 }, status: { replicas: 2, readyReplicas: 2 } },
      'apps/v1',
    );
    const message =
      'Error creating: pods "web-x" is forbidden: exceeded quota: compute, requested: pods=1, ' +
      'used: pods=2, limited: pods=2';
    const set = setOf([quota, web], [event(web, 'FailedCreate', message)]);
    expect(because(web, set)).toEqual(['resourcequota/compute: 2 of 2 pods are used']);
    // A quota that could not be read is not blamed, but the rejection is shown.
    const unread = setOf([web], [event(web, 'FailedCreate', message)]);
    expect(because(web, unread)[0]).toContain('a quota rejects it: Error creating');
  });

  test('a disruption budget that broken pods use up', () => {
    const budget = object(
      'PodDisruptionBudget',
      'web',
      {
        spec: { selector: { matchLabels: { app: 'web' } } },
        status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 },
      },
      'policy/v1',
    );
    expect(because(budget, setOf([budget]))).toEqual([]);
    const failed = pod(
      'web-0',
      {},
      { phase: 'Failed', reason: 'Evicted' },
      { labels: { app: 'web' } },
    );
    expect(because(budget, setOf([budget, failed]))).toEqual(['has failed: Evicted']);
  });

  test('an autoscaler without its target, and without metrics', () => {
    const scaler = (conditions: readonly object[] = []) =>
      object(
        'HorizontalPodAutoscaler',
        'web',
        {
          spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
          status: { conditions, currentReplicas: 2, desiredReplicas: 2 },
        },
        'autoscaling/v2',
      );
    const set = setOf([scaler()]);
    set.addComplete({ group: 'apps', kind: 'Deployment' }, 'default');
    expect(because(scaler(), set)).toEqual(['deployment/web, which it scales, does not exist']);
    const condition = { type: 'ScalingActive', status: 'False', reason: 'FailedGetResourceMetric' };
    expect(because(scaler([condition]), setOf([]))).toEqual([
      'ScalingActive=False (FailedGetResourceMetric)',
    ]);
  });

  test('a custom resource by its conditions', () => {
    const widget = object(
      'Widget',
      'w',
      {
        status: {
          conditions: [
            { type: 'Ready', status: 'False', reason: 'NoDatabase', message: 'no database' },
            { type: 'Paused', status: 'False' },
          ],
        },
      },
      'example.com/v1',
    );
    expect(because(widget, setOf([widget]))).toEqual(['Ready=False (NoDatabase): no database']);
  });

  test('conditions that are no list of conditions are left alone', () => {
    for (const conditions of [{}, 'x', [null, 1, { type: 1 }], undefined]) {
      const widget = object('Widget', 'w', { status: { conditions } }, 'example.com/v1');
      expect(because(widget, setOf([widget]))).toEqual([]);
    }
  });

  test('a namespace that is being deleted', () => {
    const namespace = object('Namespace', 'old', {
      metadata: { namespace: undefined, deletionTimestamp: LONG_AGO },
      status: {
        conditions: [
          {
            type: 'NamespaceContentRemaining',
            status: 'True',
            message: 'pods. has 1 resource instances',
          },
        ],
      },
    });
    expect(because(namespace, setOf([namespace]))).toEqual([
      'is being deleted since 120m',
      'NamespaceContentRemaining=True: pods. has 1 resource instances',
    ]);
  });

  test('a webhook without a service', () => {
    const hook = object(
      'ValidatingWebhookConfiguration',
      'h',
      {
        metadata: { namespace: undefined },
        webhooks: [
          {
            name: 'a.b.c',
            clientConfig: { service: { namespace: 'x', name: 's' } },
            failurePolicy: 'Fail',
          },
        ],
      },
      'admissionregistration.k8s.io/v1',
    );
    const set = setOf([hook]);
    set.addAbsent({ group: '', kind: 'Service', namespace: 'x', name: 's' });
    expect(because(hook, set)).toEqual(['its service x/s does not exist']);
  });
});
