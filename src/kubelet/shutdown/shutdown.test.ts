import { afterEach, describe, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { endedStatus } from '../end-pod.ts';
import { type Harness, NODE_NAME, startHarness } from '../testing/harness.ts';
import { makePod } from '../testing/make-pod.ts';
import type { ShutdownInhibitor } from './inhibitor.ts';
import { shutdownOf } from './logind.ts';
import { groupByPriority, periodsOf, totalMs } from './periods.ts';

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.stop();
  harness = undefined;
});

/** A machine whose shutdown is begun by a test. */
class FakeMachine implements ShutdownInhibitor {
  readonly locks = new Set<object>();
  delayMs = 5000;
  #notify: ((begins: boolean) => void) | undefined;

  maxDelay(): Promise<number> {
    return Promise.resolve(this.delayMs);
  }

  requestMaxDelay(delayMs: number): Promise<void> {
    this.delayMs = delayMs;
    return Promise.resolve();
  }

  inhibit = (): Promise<{ release(): void }> => {
    const lock = { release: () => void this.locks.delete(lock) };
    this.locks.add(lock);
    return Promise.resolve(lock);
  };

  async *watch(signal: AbortSignal): AsyncIterable<boolean> {
    while (!signal.aborted) {
      yield await new Promise<boolean>((resolve, reject) => {
        this.#notify = resolve;
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    }
  }

  get isWatched(): boolean {
    return this.#notify !== undefined;
  }

  shutDown(begins: boolean): void {
    this.#notify?.(begins);
  }
}

const withPriority = (name: string, priority: number) =>
  makePod({ metadata: { name }, spec: { priority } });

describe('groups', () => {
  const names = (periods: ReturnType<typeof periodsOf>, priorities: readonly number[]) =>
    groupByPriority(
      periods,
      priorities.map((priority) => withPriority(String(priority), priority)),
    ).map((group) => group.pods.map(({ metadata }) => metadata.name));

  test('ordinary pods have the time that critical ones leave', () => {
    const periods = periodsOf(30_000, 10_000);
    expect(periods.map(({ seconds }) => seconds)).toEqual([20, 10]);
    expect(totalMs(periods)).toBe(30_000);
    expect(names(periods, [0, 2_000_000_000, -5, 100])).toEqual([
      ['0', '-5', '100'],
      ['2000000000'],
    ]);
  });

  test('a pod is in the group with the highest priority that is not above its own', () => {
    const periods = [
      { priority: 1000, seconds: 1 },
      { priority: 10, seconds: 2 },
    ];
    expect(names(periods, [5, 10, 999, 1000, 5000])).toEqual([
      ['5', '10', '999'],
      ['1000', '5000'],
    ]);
  });

  test('there are none without a time', () => {
    expect(periodsOf(0, 0)).toEqual([]);
    expect(periodsOf(1000, 2000)).toEqual([]);
  });
});

test('a shutdown ends the pods in order, and the machine waits for them', async () => {
  const machine = new FakeMachine();
  harness = await startHarness({
    shutdownInhibitor: machine,
    shutdownPeriods: periodsOf(40_000, 10_000),
  });
  const { clock, client, createPod, waitForPod, findPod } = harness;
  await createPod('ordinary');
  await createPod('critical', { priorityClassName: 'system-node-critical' });
  for (const name of ['ordinary', 'critical'])
    await waitForPod(name, ({ status }) => status.phase === 'Running');
  await clock.runUntil(() => machine.isWatched, '1m');
  expect([machine.locks.size, machine.delayMs]).toEqual([1, 40_000]);

  machine.shutDown(true);
  const ended = await waitForPod('ordinary', ({ status }) => status.phase === 'Failed');
  expect(ended.status).toMatchObject({
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
  });
  expect(ended.status.conditions).toContainEqual(
    expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet' }),
  );
  await waitForPod('critical', ({ status }) => status.phase === 'Failed');
  await clock.runUntil(() => machine.locks.size === 0, '1m');

  const isReady = async (): Promise<string | undefined> => {
    const { status } = await client.resource(nodes).get(NODE_NAME);
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    return `${ready?.status} ${ready?.message}`;
  };
  await clock.runUntil(async () => (await isReady()) === 'False node is shutting down', '1m');
  await createPod('late');
  const late = await waitForPod('late', ({ status }) => status.phase === 'Failed');
  expect(late.status).toMatchObject({
    reason: 'NodeShutdown',
    message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
  });

  machine.shutDown(false);
  await clock.runUntil(
    async () => (await isReady()) === 'True kubelet is posting ready status',
    '1m',
  );
  await clock.runUntil(() => machine.locks.size === 1, '1m');
  expect((await findPod('late'))?.status.phase).toBe('Failed');
  expect(await harness.eventsOf(NODE_NAME)).toEqual(
    expect.arrayContaining([
      'NodeShutdown: Shutdown manager detected shutdown event',
      'NodeShutdown: Shutdown manager detected shutdown cancellation',
    ]),
  );
});

test('pods that do not end hold the machine no longer than their time', async () => {
  const machine = new FakeMachine();
  harness = await startHarness({
    shutdownInhibitor: machine,
    shutdownPeriods: [{ priority: 0, seconds: 5 }],
  });
  const { clock, createPod, waitForPod } = harness;
  const annotations = { 'coxswain.dev/ignore-sigterm': 'true' };
  await createPod('slow', { terminationGracePeriodSeconds: 3600 }, { annotations });
  await waitForPod('slow', ({ status }) => status.phase === 'Running');
  await clock.runUntil(() => machine.isWatched, '1m');
  machine.shutDown(true);
  await clock.runUntil(() => machine.locks.size === 0, '10s');
});

test('a machine that cannot delay its shutdown is not asked again', async () => {
  const machine = new FakeMachine();
  machine.inhibit = () => Promise.reject(new Error('no such service'));
  harness = await startHarness({
    shutdownInhibitor: machine,
    shutdownPeriods: periodsOf(5000, 0),
  });
  await harness.clock.advance('10m');
  expect(machine.isWatched).toBe(false);
  await harness.createPod('ordinary');
  await harness.waitForPod('ordinary', ({ status }) => status.phase === 'Running');
});

test.each([
  ['{"type":"signal","member":"PrepareForShutdown","payload":{"type":"b","data":[true]}}', true],
  ['{"type":"signal","member":"PrepareForShutdown","payload":{"type":"b","data":[false]}}', false],
  ['{"type":"signal","member":"PrepareForSleep","payload":{"type":"b","data":[true]}}', undefined],
  [
    '{"type":"signal","member":"PrepareForShutdown","payload":{"type":"s","data":["x"]}}',
    undefined,
  ],
  ['{"member":"PrepareForShutdown"}', undefined],
  ['Monitoring bus message stream.', undefined],
])('the line %s of busctl means %s', (line, begins) => {
  expect(shutdownOf(line)).toBe(begins);
});

test('a pod whose containers end with 0 in time has succeeded, as with upstream', async () => {
  const machine = new FakeMachine();
  harness = await startHarness({
    shutdownInhibitor: machine,
    shutdownPeriods: periodsOf(40_000, 10_000),
  });
  const { clock, createPod, waitForPod } = harness;
  // Its container ends by itself, after the stop signal and before it is killed.
  const annotations = {
    'simulation.coxswain.dev/run-duration': '10s',
    'simulation.coxswain.dev/stop-duration': '1h',
  };
  await createPod('done', { terminationGracePeriodSeconds: 25 }, { annotations });
  await waitForPod('done', ({ status }) => status.phase === 'Running');
  await clock.runUntil(() => machine.isWatched, '1m');
  machine.shutDown(true);
  const { status } = await waitForPod('done', (pod) => pod.status.phase !== 'Running');
  expect(status.containerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0 });
  // The reason and the message belong to the phase Failed, which the pod never had in the API.
  expect([status.phase, status.reason, status.message]).toEqual([
    'Succeeded',
    undefined,
    undefined,
  ]);
  expect(status.conditions).toContainEqual(
    expect.objectContaining({
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: 'Pod was terminated in response to imminent node shutdown.',
    }),
  );
});

test('a shutdown keeps the phase of a pod that has succeeded, and an eviction does not', () => {
  const pod = makePod();
  const status = { ...pod.status, phase: 'Succeeded' as const };
  const options = { reason: 'Terminated', message: 'm' };
  expect(endedStatus(pod, status, { ...options, keepsSuccess: true }).phase).toBe('Succeeded');
  expect(endedStatus(pod, status, options).phase).toBe('Failed');
});
