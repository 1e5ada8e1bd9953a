import { describe, expect, test } from 'vitest';
import { emptyPodStatus, type RuntimePodStatus, type StartFailure } from '../pod/pod-status.ts';
import {
  makeContainer,
  makePod,
  makeRecord,
  makeSandbox,
  makeStatus,
} from '../testing/make-pod.ts';
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '../types.ts';
import { sortPodIPs } from '../pod/pod-ips.ts';
import { generatePodStatus } from './generate.ts';
import { statusPatch } from './status-diff.ts';
import { terminatedStatus } from './terminated.ts';

interface Given {
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: Partial<Pod['metadata']>;
  readonly api?: PodStatus;
  readonly runtime?: RuntimePodStatus;
  readonly failures?: Readonly<Record<string, StartFailure>>;
  readonly notReady?: readonly string[];
  readonly ended?: boolean;
}

const nothing = emptyPodStatus('uid-1', 'web', 'default');

/** Returns probe results: every container is ready except those in `notReady`. */
function withProbes(notReady: readonly string[]) {
  return {
    withProbeResults: (_pod: Pod, status: ContainerStatus, init: boolean): ContainerStatus => {
      const running = status.state.running !== undefined;
      if (init)
        return {
          ...status,
          started: running,
          ready: status.state.terminated?.exitCode === 0 || running,
        };
      return { ...status, started: running, ready: running && !notReady.includes(status.name) };
    },
  };
}

function generate(given: Given): PodStatus {
  const api = given.api ?? { phase: 'Pending' };
  return generatePodStatus({
    pod: makePod({ spec: given.spec ?? {}, metadata: given.metadata ?? {}, status: api }),
    runtimeStatus: given.runtime ?? nothing,
    previous: api,
    runtimeName: 'containerd',
    startFailure: (name) => given.failures?.[name],
    probes: withProbes(given.notReady ?? []),
    hostIPs: ['192.168.0.5'],
    qosClass: 'BestEffort',
    ended: given.ended ?? false,
  });
}

const exited = (name: string, exitCode: number) => makeRecord(name, { state: 'exited', exitCode });
const two = [makeContainer('a'), makeContainer('b')];

describe('the phase', () => {
  const cases: readonly [string, string, Given][] = [
    ['Pending', 'nothing is there', {}],
    ['Running', 'all runs', { runtime: makeStatus([makeRecord('main')]) }],
    [
      'Pending',
      'one has not started',
      { spec: { containers: two }, runtime: makeStatus([makeRecord('a')]) },
    ],
    [
      'Running',
      'one of two has ended',
      { spec: { containers: two }, runtime: makeStatus([makeRecord('a'), exited('b', 1)]) },
    ],
    [
      'Running',
      'all has ended and will be restarted',
      { runtime: makeStatus([exited('main', 1)]) },
    ],
    [
      'Succeeded',
      'all has succeeded, by OnFailure',
      { spec: { restartPolicy: 'OnFailure' }, runtime: makeStatus([exited('main', 0)]) },
    ],
    [
      'Running',
      'one failed, by OnFailure',
      { spec: { restartPolicy: 'OnFailure' }, runtime: makeStatus([exited('main', 1)]) },
    ],
    [
      'Failed',
      'one failed, by Never',
      { spec: { restartPolicy: 'Never' }, runtime: makeStatus([exited('main', 1)]) },
    ],
    [
      'Succeeded',
      'all was stopped well, and the pod is not to go on',
      { runtime: makeStatus([exited('main', 0)]), ended: true },
    ],
    [
      'Failed',
      'one was stopped badly, and the pod is not to go on',
      { runtime: makeStatus([exited('main', 137)]), ended: true },
    ],
    [
      'Pending',
      'an init container runs',
      {
        spec: { initContainers: [makeContainer('init')] },
        runtime: makeStatus([makeRecord('init')]),
      },
    ],
    [
      'Failed',
      'an init container failed, by Never',
      {
        spec: { restartPolicy: 'Never', initContainers: [makeContainer('init')] },
        runtime: makeStatus([exited('init', 1)]),
      },
    ],
    [
      'Pending',
      'an init container failed and will be restarted',
      {
        spec: { initContainers: [makeContainer('init')] },
        runtime: makeStatus([exited('init', 1)]),
      },
    ],
    [
      'Running',
      'a container crashes in a loop',
      {
        runtime: makeStatus([exited('main', 1)]),
        failures: { main: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      },
    ],
    [
      'Succeeded',
      'the containers have ended, whatever the sidecar did',
      {
        spec: {
          restartPolicy: 'Never',
          initContainers: [makeContainer('proxy', { restartPolicy: 'Always' })],
        },
        runtime: makeStatus([exited('main', 0), exited('proxy', 137)]),
      },
    ],
    [
      'Failed',
      'the API says so already',
      { api: { phase: 'Failed', reason: 'Evicted' }, runtime: makeStatus([makeRecord('main')]) },
    ],
  ];
  test.each(cases)('is %s when %s', (phase, _when, given) => {
    expect(generate(given).phase).toBe(phase);
  });
});

describe('container statuses', () => {
  const statusOf = (given: Given): ContainerStatus =>
    generate(given).containerStatuses?.[0] as ContainerStatus;

  test('are waiting before the first start', () => {
    expect(statusOf({}).state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(statusOf({ spec: { initContainers: [makeContainer('init')] } }).state).toEqual({
      waiting: { reason: 'PodInitializing' },
    });
  });

  test('contain the reason of a failed start', () => {
    const failures = { main: { reason: 'ErrImagePull', message: 'not found' } };
    expect(statusOf({ failures }).state).toEqual({
      waiting: { reason: 'ErrImagePull', message: 'not found' },
    });
  });

  test('in a crash loop contain the last termination', () => {
    const status = statusOf({
      runtime: makeStatus([makeRecord('main', { state: 'exited', exitCode: 2, restartCount: 3 })]),
      failures: { main: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
    });
    expect(status).toMatchObject({
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
      lastState: {
        terminated: { exitCode: 2, reason: 'Error', containerID: 'containerd://main-id' },
      },
    });
  });

  test('have the previous instance as the last state', () => {
    const status = statusOf({
      runtime: makeStatus([
        makeRecord('main', { id: 'new', restartCount: 1 }),
        makeRecord('main', { id: 'old', state: 'exited', exitCode: 1, reason: 'OOMKilled' }),
      ]),
    });
    expect(status).toMatchObject({
      containerID: 'containerd://new',
      restartCount: 1,
      state: { running: { startedAt: '2026-01-01T00:00:01Z' } },
      lastState: { terminated: { reason: 'OOMKilled', containerID: 'containerd://old' } },
    });
  });

  test('keep the last state of an instance that the runtime has removed', () => {
    const ended = { exitCode: 1, startedAt: null, finishedAt: null };
    const before = (state: object, lastState: object): PodStatus => ({
      phase: 'Running',
      containerStatuses: [
        {
          name: 'main',
          state,
          lastState,
          ready: false,
          restartCount: 0,
          image: 'busybox',
          imageID: 'x',
          containerID: 'containerd://old',
        },
      ],
    });
    const runtime = makeStatus([makeRecord('main', { id: 'new', restartCount: 1 })]);
    expect(statusOf({ api: before({ terminated: ended }, {}), runtime }).lastState).toEqual({
      terminated: ended,
    });
    const earlier = before({ waiting: {} }, { terminated: ended });
    expect(statusOf({ api: earlier, runtime }).lastState).toEqual({ terminated: ended });
  });

  const running: PodStatus = {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'main',
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        lastState: {},
        ready: true,
        restartCount: 2,
        image: 'busybox',
        imageID: 'x',
        containerID: 'containerd://lost',
      },
    ],
  };

  test('of lost containers count as failed', () => {
    expect(statusOf({ api: running })).toMatchObject({
      restartCount: 3,
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
    });
    expect(
      statusOf({ api: running, runtime: makeStatus([makeRecord('main', { state: 'unknown' })]) }),
    ).toMatchObject({
      restartCount: 3,
      state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
    });
  });

  test('of an init container that the runtime has removed, once the pod runs', () => {
    const status = generate({
      spec: { initContainers: [makeContainer('init')] },
      runtime: makeStatus([makeRecord('main')]),
    });
    expect(status.initContainerStatuses?.[0]?.state.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
    });
    expect(status.phase).toBe('Running');
  });

  test('have resources, mounts and user', () => {
    const status = statusOf({
      spec: {
        containers: [
          makeContainer('main', {
            resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
            volumeMounts: [
              { name: 'data', mountPath: '/data' },
              { name: 'conf', mountPath: '/conf', readOnly: true },
            ],
          }),
        ],
      },
      runtime: makeStatus([
        makeRecord('main', { user: { uid: 1000, gid: 100, supplementalGroups: [5] } }),
      ]),
    });
    expect(status).toMatchObject({
      allocatedResources: { cpu: '100m' },
      resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
      volumeMounts: [
        { name: 'data', mountPath: '/data' },
        { name: 'conf', mountPath: '/conf', readOnly: true, recursiveReadOnly: 'Disabled' },
      ],
      user: { linux: { uid: 1000, gid: 100, supplementalGroups: [5] } },
    });
  });
});

describe('conditions', () => {
  const brief = (status: PodStatus): readonly string[] =>
    (status.conditions ?? []).map(({ type, status: value, reason, message }) =>
      [type, value, reason, message].filter(Boolean).join(' '),
    );

  test('of a starting pod', () => {
    expect(brief(generate({}))).toEqual([
      'PodReadyToStartContainers False',
      'Initialized True',
      'Ready False ContainersNotReady containers with unready status: [main]',
      'ContainersReady False ContainersNotReady containers with unready status: [main]',
      'PodScheduled True',
    ]);
  });

  test('of a running pod that is not ready', () => {
    const status = generate({
      spec: { containers: two },
      runtime: makeStatus([makeRecord('a'), makeRecord('b')]),
      notReady: ['b'],
    });
    expect(brief(status)).toContain(
      'Ready False ContainersNotReady containers with unready status: [b]',
    );
    expect(brief(status)).toContain('PodReadyToStartContainers True');
  });

  test('of an ended pod', () => {
    const done = generate({
      spec: { restartPolicy: 'Never' },
      runtime: makeStatus([exited('main', 0)], [makeSandbox({ ready: false })]),
    });
    expect(brief(done)).toEqual([
      'PodReadyToStartContainers False',
      'Initialized True PodCompleted',
      'Ready False PodCompleted',
      'ContainersReady False PodCompleted',
      'PodScheduled True',
    ]);
  });

  test('of other writers are kept, and readiness gates count', () => {
    const condition = {
      type: 'example.com/gate' as const,
      lastProbeTime: null,
      lastTransitionTime: null,
    };
    const given = (gate: 'True' | 'False' | undefined): Given => ({
      spec: { readinessGates: [{ conditionType: 'example.com/gate' }] },
      api: {
        phase: 'Running',
        ...(gate === undefined ? {} : { conditions: [{ ...condition, status: gate }] }),
      },
      runtime: makeStatus([makeRecord('main')]),
    });
    expect(brief(generate(given('True')))).toContain('Ready True');
    expect(brief(generate(given('True')))).toContain('example.com/gate True');
    expect(brief(generate(given('False')))).toContain(
      'Ready False ReadinessGatesNotReady the status of pod readiness gate "example.com/gate" is not "True", but False',
    );
    expect(brief(generate(given(undefined)))).toContain(
      'Ready False ReadinessGatesNotReady corresponding condition of pod readiness gate ' +
        '"example.com/gate" does not exist.',
    );
  });
});

test('addresses: at most one of each family, the family of the node first', () => {
  expect(sortPodIPs(['fd00::1', '10.0.0.1', '10.0.0.2'], '192.168.0.1')).toEqual([
    '10.0.0.1',
    'fd00::1',
  ]);
  expect(sortPodIPs(['10.0.0.1', 'fd00::1'], 'fe80::1')).toEqual(['fd00::1', '10.0.0.1']);
  expect(generate({ spec: { hostNetwork: true } })).toMatchObject({
    podIP: '192.168.0.5',
    podIPs: [{ ip: '192.168.0.5' }],
  });
});

test('the last status is final for every container', () => {
  const status = terminatedStatus(generate({ runtime: nothing }));
  expect(status.phase).toBe('Failed');
  expect(status.containerStatuses?.[0]).toMatchObject({
    ready: false,
    state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
  });
});

test('in the last status, containers that never started are waiting, and successful init containers are ready', () => {
  const init = ['one', 'two'].map((name) => makeContainer(name));
  const failed = terminatedStatus(
    generate({
      spec: { restartPolicy: 'Never', initContainers: init },
      runtime: makeStatus([exited('one', 0), exited('two', 1)]),
    }),
  );
  expect(failed.phase).toBe('Failed');
  expect(failed.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
  const done = terminatedStatus(
    generate({
      spec: { restartPolicy: 'Never', initContainers: init },
      runtime: makeStatus([exited('one', 0), exited('two', 0), exited('main', 0)]),
    }),
  );
  expect(done.phase).toBe('Succeeded');
  expect(done.initContainerStatuses?.map(({ ready }) => ready)).toEqual([true, true]);
  expect(done.containerStatuses?.[0]?.ready).toBe(false);
});

describe('the addresses of a pod', () => {
  const had: PodStatus = { phase: 'Running', podIP: '10.0.0.9', podIPs: [{ ip: '10.0.0.9' }] };
  const withSandbox = (ready: boolean, ips: readonly string[]): RuntimePodStatus => ({
    ...makeStatus([exited('main', 0)]),
    sandboxes: [makeSandbox({ ready, ips })],
  });

  test.each<[string, Given, string | undefined]>([
    [
      'are those of its sandbox',
      { api: had, runtime: withSandbox(true, ['10.0.0.2']) },
      '10.0.0.2',
    ],
    ['stay when it has ended', { api: had, runtime: withSandbox(false, []) }, '10.0.0.9'],
    ['stay when its sandbox is gone', { api: had, runtime: nothing }, '10.0.0.9'],
    [
      'are none while its sandbox has none yet',
      { api: had, runtime: withSandbox(true, []) },
      undefined,
    ],
    ['are none before it has a sandbox', {}, undefined],
  ])('%s', (_, given, ip) => {
    const { podIP, podIPs } = generate(given);
    expect(podIP).toBe(ip);
    expect(podIPs?.map((entry) => entry.ip)).toEqual(ip === undefined ? undefined : [ip]);
  });
});

describe('the patch', () => {
  const ready = {
    type: 'Ready' as const,
    lastProbeTime: null,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };

  test('contains the changes, and nothing else', () => {
    const before: PodStatus = {
      phase: 'Pending',
      hostIP: '1.1.1.1',
      reason: 'Old',
      conditions: [{ ...ready, status: 'False', reason: 'X', message: 'Y' }],
    };
    expect(statusPatch(before, before)).toBeUndefined();
    expect(
      statusPatch(before, {
        phase: 'Running',
        hostIP: '1.1.1.1',
        conditions: [{ ...ready, status: 'True' }],
      }),
    ).toEqual({
      phase: 'Running',
      reason: null,
      conditions: [{ ...ready, status: 'True', reason: null, message: null }],
    });
  });

  test('does not touch conditions and fields of other writers', () => {
    const other = {
      type: 'example.com/x' as const,
      status: 'True' as const,
      lastProbeTime: null,
      lastTransitionTime: null,
    };
    const before: PodStatus = { phase: 'Running', conditions: [other], nominatedNodeName: 'n' };
    expect(
      statusPatch(before, { phase: 'Running', conditions: [{ ...other, status: 'False' }] }),
    ).toBeUndefined();
  });

  test('replaces addresses', () => {
    expect(
      statusPatch({ podIPs: [{ ip: 'a' }, { ip: 'b' }] }, { podIPs: [{ ip: 'c' }, { ip: 'b' }] }),
    ).toEqual({
      podIPs: [{ ip: 'c' }, { ip: 'b' }, { $patch: 'delete', ip: 'a' }],
    });
  });
});
