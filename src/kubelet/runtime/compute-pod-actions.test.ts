import { describe, expect, test } from 'vitest';
import {
  makeContainer,
  makePod,
  makeRecord,
  makeSandbox,
  makeStatus,
} from '../testing/make-pod.ts';
import type { Pod, PodSpec } from '../types.ts';
import {
  computePodActions,
  type ContainerToKill,
  type PodActions,
  type ProbeVerdicts,
} from './compute-pod-actions.ts';
import { podSandboxChanged } from '../pod/pod-progress.ts';
import type { RuntimePodStatus } from '../pod/pod-status.ts';

const NO_PROBES: ProbeVerdicts = { liveness: () => undefined, startup: () => undefined };
const THREE = [makeContainer('a'), makeContainer('b'), makeContainer('c')];
const RUNNING = THREE.map(({ name }) => makeRecord(name));

function pod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return makePod({ spec: { containers: THREE, ...spec }, metadata });
}

function expected(actions: Partial<PodActions>): PodActions {
  return {
    killPod: false,
    createSandbox: false,
    sandboxId: 'sandbox-0',
    attempt: 0,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: [],
    containersToReset: [],
    ...actions,
  };
}

function replaced(name: string, overrides: Parameters<typeof makeRecord>[1]) {
  return RUNNING.map((record) => (record.name === name ? makeRecord(name, overrides) : record));
}

interface Case {
  readonly name: string;
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly probes?: ProbeVerdicts;
  readonly actions: Partial<PodActions>;
}

function check(cases: readonly Case[]): void {
  test.each(cases)('$name', ({ pod: given, status, probes, actions }) => {
    expect(computePodActions(given, status, probes ?? NO_PROBES)).toEqual(expected(actions));
  });
}

const kill = (overrides: Partial<ContainerToKill>): ContainerToKill => ({
  id: 'b-id',
  name: 'b',
  message: '',
  reason: 'Unknown',
  ...overrides,
});

describe('a pod without init containers', () => {
  check([
    {
      name: 'is started from nothing',
      pod: pod(),
      status: makeStatus([], []),
      actions: { killPod: true, createSandbox: true, sandboxId: '', containersToStart: [0, 1, 2] },
    },
    { name: 'is left alone when all runs', pod: pod(), status: makeStatus(RUNNING), actions: {} },
    {
      name: 'gets a new sandbox when its own is gone',
      pod: pod(),
      status: makeStatus(RUNNING, [makeSandbox({ ready: false })]),
      actions: { killPod: true, createSandbox: true, attempt: 1, containersToStart: [0, 1, 2] },
    },
    {
      name: 'gets a new sandbox when two are ready',
      pod: pod(),
      status: makeStatus(RUNNING, [makeSandbox({ id: 'sandbox-1', attempt: 1 }), makeSandbox()]),
      actions: {
        killPod: true,
        createSandbox: true,
        sandboxId: 'sandbox-1',
        attempt: 2,
        containersToStart: [0, 1, 2],
      },
    },
    {
      name: 'gets a new sandbox when its own has no address',
      pod: pod(),
      status: makeStatus(RUNNING, [makeSandbox({ ips: [] })]),
      actions: { killPod: true, createSandbox: true, attempt: 1, containersToStart: [0, 1, 2] },
    },
    {
      name: 'gets a sandbox in the host network when it wants one',
      pod: pod({ hostNetwork: true }),
      status: makeStatus(RUNNING),
      actions: {
        killPod: true,
        createSandbox: true,
        sandboxId: '',
        attempt: 1,
        containersToStart: [0, 1, 2],
      },
    },
    {
      name: 'restarts what ended, by the policy Always',
      pod: pod({ restartPolicy: 'Always' }),
      status: makeStatus(replaced('b', { state: 'exited', exitCode: 0 })),
      actions: { containersToStart: [1] },
    },
    {
      name: 'restarts what failed, by the policy OnFailure',
      pod: pod({ restartPolicy: 'OnFailure' }),
      status: makeStatus(replaced('b', { state: 'exited', exitCode: 1 })),
      actions: { containersToStart: [1] },
    },
    {
      name: 'leaves what succeeded, by the policy OnFailure',
      pod: pod({ restartPolicy: 'OnFailure' }),
      status: makeStatus(replaced('b', { state: 'exited', exitCode: 0 })),
      actions: {},
    },
    {
      name: 'leaves what failed, by the policy Never',
      pod: pod({ restartPolicy: 'Never' }),
      status: makeStatus(replaced('b', { state: 'exited', exitCode: 1 })),
      actions: {},
    },
    {
      name: 'restarts what its own policy has restarted, whatever the pod says',
      pod: pod({
        restartPolicy: 'Never',
        containers: [THREE[0]!, makeContainer('b', { restartPolicy: 'OnFailure' }), THREE[2]!],
      }),
      status: makeStatus(replaced('b', { state: 'exited', exitCode: 1 })),
      actions: { containersToStart: [1] },
    },
    {
      name: 'restarts on the exit codes of a rule',
      pod: pod({
        restartPolicy: 'Never',
        containers: [
          THREE[0]!,
          makeContainer('b', {
            restartPolicy: 'Never',
            restartPolicyRules: [
              { action: 'Restart', exitCodes: { operator: 'In', values: [42] } },
            ],
          }),
          THREE[2]!,
        ],
      }),
      status: makeStatus(replaced('b', { state: 'exited', exitCode: 42 })),
      actions: { containersToStart: [1] },
    },
    {
      name: 'is stopped when all has ended for good',
      pod: pod({ restartPolicy: 'Never' }),
      status: makeStatus(THREE.map(({ name }) => makeRecord(name, { state: 'exited' }))),
      actions: { killPod: true },
    },
    {
      name: 'gets no new sandbox when all has ended for good',
      pod: pod({ restartPolicy: 'Never' }),
      status: makeStatus(
        THREE.map(({ name }) => makeRecord(name, { state: 'exited' })),
        [makeSandbox({ ready: false })],
      ),
      actions: { killPod: true, attempt: 1 },
    },
    {
      name: 'gets a new sandbox for what has not succeeded yet',
      pod: pod({ restartPolicy: 'OnFailure' }),
      status: makeStatus(
        [
          makeRecord('a', { state: 'exited' }),
          makeRecord('b', { state: 'exited', exitCode: 1 }),
          makeRecord('c', { state: 'exited' }),
        ],
        [makeSandbox({ ready: false })],
      ),
      actions: { killPod: true, createSandbox: true, attempt: 1, containersToStart: [1] },
    },
    {
      name: 'kills what may be running before it starts it again',
      pod: pod(),
      status: makeStatus(replaced('b', { state: 'unknown' })),
      actions: {
        containersToStart: [1],
        containersToKill: [
          kill({ message: 'Container is in "unknown" state, try killing it before restart' }),
        ],
      },
    },
    {
      name: 'makes anew what was created and never started',
      pod: pod(),
      status: makeStatus(replaced('b', { state: 'created' })),
      actions: { containersToStart: [1] },
    },
    {
      name: 'restarts a container whose image has changed, whatever the policy',
      pod: pod({
        restartPolicy: 'Never',
        containers: [THREE[0]!, makeContainer('b', { image: 'busybox:2' }), THREE[2]!],
      }),
      status: makeStatus(RUNNING),
      actions: {
        containersToStart: [1],
        containersToKill: [
          kill({
            message: 'Container b definition changed, will be restarted',
            reason: 'DefinitionChanged',
          }),
        ],
      },
    },
    {
      name: 'restarts a container whose liveness probe has failed',
      pod: pod(),
      status: makeStatus(RUNNING),
      probes: { ...NO_PROBES, liveness: (id) => (id === 'b-id' ? 'failure' : 'success') },
      actions: {
        containersToStart: [1],
        containersToKill: [
          kill({
            message: 'Container b failed liveness probe, will be restarted',
            reason: 'LivenessProbe',
          }),
        ],
      },
    },
    {
      name: 'kills a container whose startup probe has failed, and leaves it by the policy Never',
      pod: pod({ restartPolicy: 'Never' }),
      status: makeStatus(RUNNING),
      probes: { ...NO_PROBES, startup: (id) => (id === 'b-id' ? 'failure' : 'success') },
      actions: {
        containersToKill: [
          kill({ message: 'Container b failed startup probe', reason: 'StartupProbe' }),
        ],
      },
    },
    {
      name: 'starts an ephemeral container once',
      pod: pod({
        ephemeralContainers: [{ ...makeContainer('debug') }, { ...makeContainer('seen') }],
      }),
      status: makeStatus([...RUNNING, makeRecord('seen', { state: 'exited' })]),
      actions: { ephemeralContainersToStart: [0] },
    },
  ]);
});

describe('init containers', () => {
  const INIT = [makeContainer('one'), makeContainer('two'), makeContainer('three')];
  const withInit = (spec: Partial<PodSpec> = {}): Pod => pod({ initContainers: INIT, ...spec });
  const ended = (name: string, exitCode = 0) => makeRecord(name, { state: 'exited', exitCode });
  check([
    {
      name: 'the first starts with the sandbox',
      pod: withInit(),
      status: makeStatus([], []),
      actions: { killPod: true, createSandbox: true, sandboxId: '', initContainersToStart: [0] },
    },
    {
      name: 'the first starts in a sandbox that is there',
      pod: withInit(),
      status: makeStatus([]),
      actions: { initContainersToStart: [0] },
    },
    {
      name: 'one that runs is waited for',
      pod: withInit(),
      status: makeStatus([makeRecord('one')]),
      actions: {},
    },
    {
      name: 'the next starts when one has succeeded',
      pod: withInit(),
      status: makeStatus([ended('one')]),
      actions: { initContainersToStart: [1] },
    },
    {
      name: 'those before are not asked for, since the runtime may have forgotten them',
      pod: withInit(),
      status: makeStatus([ended('two')]),
      actions: { initContainersToStart: [2] },
    },
    {
      name: 'the containers start when the last has succeeded',
      pod: withInit(),
      status: makeStatus([ended('three'), ended('two'), ended('one')]),
      actions: { containersToStart: [0, 1, 2] },
    },
    {
      name: 'one that failed is restarted',
      pod: withInit(),
      status: makeStatus([ended('two', 1), ended('one')]),
      actions: { initContainersToStart: [1] },
    },
    {
      name: 'one that failed ends the pod, by the policy Never',
      pod: withInit({ restartPolicy: 'Never' }),
      status: makeStatus([ended('two', 1), ended('one')]),
      actions: { killPod: true },
    },
    {
      name: 'all is forgotten while the containers run, and nothing is done',
      pod: withInit(),
      status: makeStatus(RUNNING),
      actions: {},
    },
    {
      name: 'the first starts again in a new sandbox',
      pod: withInit(),
      status: makeStatus([ended('one')], [makeSandbox({ ready: false })]),
      actions: { killPod: true, createSandbox: true, attempt: 1, initContainersToStart: [0] },
    },
  ]);
});

describe('sidecars', () => {
  const sidecar = (name: string, overrides = {}) =>
    makeContainer(name, { restartPolicy: 'Always', ...overrides });
  const probed = { startupProbe: { exec: { command: ['true'] } } };
  const withSidecars = (spec: Partial<PodSpec> = {}): Pod =>
    pod({ initContainers: [sidecar('proxy'), makeContainer('setup'), sidecar('logger')], ...spec });
  const ended = (name: string, exitCode = 0) => makeRecord(name, { state: 'exited', exitCode });
  check([
    {
      name: 'the next init container starts when a sidecar runs',
      pod: withSidecars(),
      status: makeStatus([makeRecord('proxy')]),
      actions: { initContainersToStart: [1] },
    },
    {
      name: 'a sidecar with a startup probe is waited for',
      pod: withSidecars({ initContainers: [sidecar('proxy', probed), makeContainer('setup')] }),
      status: makeStatus([makeRecord('proxy')]),
      actions: {},
    },
    {
      name: 'a sidecar whose startup probe failed is restarted',
      pod: withSidecars({ initContainers: [sidecar('proxy', probed), makeContainer('setup')] }),
      status: makeStatus([makeRecord('proxy')]),
      probes: { ...NO_PROBES, startup: () => 'failure' },
      actions: {
        initContainersToStart: [0],
        containersToKill: [
          {
            id: 'proxy-id',
            name: 'proxy',
            message: 'Init container proxy failed startup probe',
            reason: 'StartupProbe',
          },
        ],
      },
    },
    {
      name: 'the containers start when the last sidecar runs',
      pod: withSidecars(),
      status: makeStatus([makeRecord('logger'), ended('setup'), makeRecord('proxy')]),
      actions: { containersToStart: [0, 1, 2] },
    },
    {
      name: 'a sidecar that ended is restarted beside the containers',
      pod: withSidecars(),
      status: makeStatus([...RUNNING, makeRecord('logger'), ended('setup'), ended('proxy', 1)]),
      actions: { initContainersToStart: [0] },
    },
    {
      name: 'sidecars are not restarted once the containers have ended for good',
      pod: withSidecars({ restartPolicy: 'Never' }),
      status: makeStatus([
        ended('a'),
        ended('b'),
        ended('c'),
        makeRecord('logger'),
        ended('setup'),
        ended('proxy'),
      ]),
      actions: { killPod: true },
    },
  ]);
});

test('a pod without a sandbox, or with a stopped one, needs one', () => {
  expect(podSandboxChanged(pod(), makeStatus([], []))).toEqual({
    changed: true,
    attempt: 0,
    sandboxId: '',
  });
  expect(podSandboxChanged(pod(), makeStatus([]))).toEqual({
    changed: false,
    attempt: 0,
    sandboxId: 'sandbox-0',
  });
});
