import { beforeEach, describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { makePod } from '../testing/make-pod.ts';
import type { Pod, PodCondition, PodStatus } from '../types.ts';
import { StatusManager } from './status-manager.ts';

const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, with: () => silent };
const pod = makePod();

let clock: VirtualClock;
let calls: string[];
let patches: Readonly<Record<string, unknown>>[];
let running: boolean;
let fail: Error | undefined;
let latest: Pod;
let terminated: (readonly [string, number, string])[];
let statuses: StatusManager;
beforeEach(() => {
  terminated = [];
  clock = new VirtualClock();
  calls = [];
  patches = [];
  running = true;
  fail = undefined;
  latest = pod;
  statuses = new StatusManager({
    clock,
    logger: silent,
    couldHaveRunningContainers: () => running,
    onTerminated: (...container) => terminated.push(container),
    writer: {
      patchStatus: (target, patch) => {
        calls.push(`patch ${target.metadata.uid}`);
        if (fail !== undefined) return Promise.reject(fail);
        patches.push(patch);
        const metadata = {
          ...latest.metadata,
          resourceVersion: String(Number(latest.metadata.resourceVersion) + 1),
        };
        latest = { ...latest, metadata, status: { ...latest.status, ...patch } };
        return Promise.resolve(latest);
      },
      remove: (target) => {
        calls.push(`remove ${target.metadata.uid}`);
        return fail === undefined ? Promise.resolve() : Promise.reject(fail);
      },
    },
  });
});

const ready = (status: 'True' | 'False'): PodCondition => ({
  type: 'Ready',
  status,
  lastProbeTime: null,
  lastTransitionTime: null,
});
const settle = (): Promise<void> => clock.advance('20ms');

describe('writing', () => {
  test('changes within a short time are written once', async () => {
    statuses.set(pod, { phase: 'Pending', hostIP: '1.1.1.1' });
    statuses.set(pod, { phase: 'Running', hostIP: '1.1.1.1' });
    expect(calls).toEqual([]);
    await settle();
    expect(patches).toEqual([
      { phase: 'Running', hostIP: '1.1.1.1', startTime: '2026-01-01T00:00:00Z' },
    ]);
    statuses.set(pod, { phase: 'Running', hostIP: '1.1.1.1' });
    await settle();
    expect(calls).toHaveLength(1);
  });

  test('transition times and the start time are kept', async () => {
    statuses.set(pod, { phase: 'Pending', conditions: [ready('False')] });
    await settle();
    await clock.advance('10s');
    statuses.set(pod, { phase: 'Running', conditions: [ready('False')] });
    await settle();
    expect(statuses.get('uid-1')).toMatchObject({
      startTime: '2026-01-01T00:00:00Z',
      conditions: [{ lastTransitionTime: '2026-01-01T00:00:00Z' }],
    });
    statuses.set(pod, { phase: 'Running', conditions: [ready('True')] });
    expect(statuses.get('uid-1')?.conditions?.[0]?.lastTransitionTime).toBe('2026-01-01T00:00:10Z');
  });

  test('a failed write is retried, unless the pod is gone', async () => {
    fail = apierrors.serviceUnavailable('later');
    statuses.set(pod, { phase: 'Running' });
    await clock.advance('2s');
    expect(calls.length).toBeGreaterThan(1);
    fail = undefined;
    await clock.advance('1m');
    expect(patches).toHaveLength(1);
    fail = apierrors.notFound({ group: '', resource: 'pods' }, 'web');
    statuses.set(pod, { phase: 'Running', hostIP: '2.2.2.2' });
    const before = calls.length;
    await clock.advance('10m');
    expect(calls).toHaveLength(before + 1);
  });

  test('a pod is not reported as ended before its containers have ended', async () => {
    statuses.set(pod, { phase: 'Failed', reason: 'DeadlineExceeded' });
    await settle();
    expect(latest.status.phase).toBe('Pending');
    expect(latest.status.reason).toBeUndefined();
    expect(statuses.get('uid-1')?.phase).toBe('Failed');
    running = false;
    statuses.set(pod, { phase: 'Failed', reason: 'DeadlineExceeded' });
    await settle();
    expect(latest.status).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });

  test('an undone status is written again, but not because of an outdated event', async () => {
    statuses.set(pod, { phase: 'Running', podIP: '10.0.0.1' });
    await settle();
    statuses.observe(pod);
    await settle();
    expect(calls).toHaveLength(1);
    const undone: PodStatus = { ...latest.status, podIP: '6.6.6.6' };
    statuses.observe({
      ...latest,
      metadata: { ...latest.metadata, resourceVersion: '9' },
      status: undone,
    });
    await settle();
    expect(patches.at(-1)).toEqual({ podIP: '10.0.0.1' });
  });
});

describe('removing', () => {
  test('the object is deleted after the last status is written', async () => {
    running = false;
    statuses.set(pod, { phase: 'Succeeded' });
    statuses.removeWhenWritten(pod);
    await settle();
    expect(calls).toEqual(['patch uid-1', 'remove uid-1']);
  });

  test('is retried until it succeeds, or another pod has the name', async () => {
    fail = apierrors.serviceUnavailable('later');
    statuses.removeWhenWritten(pod);
    await clock.advance('5s');
    expect(calls.length).toBeGreaterThan(1);
    fail = apierrors.conflict({ group: '', resource: 'pods' }, 'web', 'another UID');
    await clock.advance('1m');
    const settled = calls.length;
    await clock.advance('10m');
    expect(calls).toHaveLength(settled);
  });

  test('a dropped pod is left alone', async () => {
    statuses.set(pod, { phase: 'Running' });
    statuses.forget('uid-1');
    await clock.advance('1m');
    expect(calls).toEqual([]);
    expect(statuses.get('uid-1')).toBeUndefined();
  });
});

test('each termination of a container is reported once', () => {
  const container = (state: object): never =>
    ({ name: 'a', image: 'i', imageID: '', ready: false, restartCount: 0, state }) as never;
  const ended = { terminated: { exitCode: 139, reason: 'Error' } };
  const set = (state: object): void =>
    statuses.set(pod, { phase: 'Running', containerStatuses: [container(state)] });
  set({ waiting: {} });
  set(ended);
  set(ended);
  expect(terminated).toEqual([['container', 139, 'Error']]);
  set({ running: {} });
  set({ terminated: { exitCode: 0, reason: 'Completed' } });
  expect(terminated.slice(1)).toEqual([['container', 0, 'Completed']]);
});
