import { beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Logger } from '#machinery/log.ts';
import { PodWorkers, type PodSyncer, type StatusChange, type SyncResult } from './pod-workers.ts';
import { makePod } from './testing/make-pod.ts';
import type { Pod } from './types.ts';

const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, with: () => silent };

/** Records calls, and checks that a pod never has two calls at a time. */
class RecordingSyncer implements PodSyncer {
  readonly calls: string[] = [];
  readonly #busy = new Set<string>();
  syncResult: (pod: Pod) => SyncResult | Promise<SyncResult> = () => ({ ended: false });
  terminating: (pod: Pod, grace: number, signal: AbortSignal) => Promise<void> = () =>
    Promise.resolve();
  readonly statusChanges: (StatusChange | undefined)[] = [];

  adoptPod(pod: Pod): void {
    this.calls.push(`adopt ${pod.metadata.name}`);
  }

  async syncPod(pod: Pod, _first: boolean, _signal: AbortSignal): Promise<SyncResult> {
    return await this.#exclusively(
      `sync ${pod.metadata.name}`,
      pod,
      async () => await this.syncResult(pod),
    );
  }
  async syncTerminatingPod(
    pod: Pod,
    grace: number,
    change: StatusChange | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    this.statusChanges.push(change);
    await this.#exclusively(`terminating ${pod.metadata.name} ${grace}`, pod, () =>
      this.terminating(pod, grace, signal),
    );
  }
  async syncTerminatingRuntimePod(pod: Pod): Promise<void> {
    await this.#exclusively(`terminating runtime ${pod.metadata.name}`, pod, () =>
      Promise.resolve(),
    );
  }
  async syncTerminatedPod(pod: Pod): Promise<void> {
    await this.#exclusively(`terminated ${pod.metadata.name}`, pod, () => Promise.resolve());
  }
  podFinished(pod: Pod): void {
    this.calls.push(`finished ${pod.metadata.name}`);
  }

  async #exclusively<T>(call: string, pod: Pod, work: () => Promise<T>): Promise<T> {
    const { uid } = pod.metadata;
    if (this.#busy.has(uid)) throw new Error(`two syncs of ${uid} at once`);
    this.#busy.add(uid);
    this.calls.push(call);
    try {
      return await work();
    } finally {
      this.#busy.delete(uid);
    }
  }
}

let clock: VirtualClock;
let syncer: RecordingSyncer;
let stopped: boolean;
let workers: PodWorkers;
beforeEach(() => {
  clock = new VirtualClock();
  syncer = new RecordingSyncer();
  stopped = false;
  workers = new PodWorkers({
    clock,
    random: new SeededRandom(1),
    logger: silent,
    isStopped: () => stopped,
  });
  workers.start(syncer, (pod) => syncer.podFinished(pod));
});

const web = (
  metadata: Partial<Pod['metadata']> = {},
  status: Pod['status'] = { phase: 'Pending' },
): Pod => makePod({ metadata: { name: 'web', uid: 'web', ...metadata }, status });

describe('syncing', () => {
  test('updates during a sync lead to one more sync', async () => {
    let release = (): void => undefined;
    syncer.syncResult = () => new Promise((resolve) => (release = () => resolve({ ended: false })));
    workers.update({ type: 'create', pod: web() });
    workers.update({ type: 'update', pod: web() });
    workers.sync('web');
    workers.sync('web');
    await clock.settle();
    expect(syncer.calls).toEqual(['sync web']);
    release();
    await clock.settle();
    expect(syncer.calls).toEqual(['sync web', 'sync web']);
  });

  test('an adopted pod is synced when something changes, not before', async () => {
    const running = web({}, { phase: 'Running' });
    workers.update({ type: 'adopt', pod: running });
    await clock.advance('1h');
    expect(syncer.calls).toEqual(['adopt web']);
    expect(workers.isIdle).toBe(true);
    workers.sync('web');
    await clock.settle();
    workers.update({ type: 'kill', pod: running });
    await clock.settle();
    expect(syncer.calls.slice(1, 3)).toEqual(['sync web', 'terminating web 30']);
  });

  test('pods do not wait for each other', async () => {
    syncer.syncResult = (pod) =>
      pod.metadata.name === 'web' ? new Promise(() => undefined) : { ended: false };
    workers.update({ type: 'create', pod: web() });
    workers.update({ type: 'create', pod: makePod({ metadata: { name: 'db', uid: 'db' } }) });
    await clock.settle();
    expect(syncer.calls).toEqual(['sync web', 'sync db']);
  });

  test('a failed sync is retried with growing delays, and other pods continue', async () => {
    let failures = 3;
    syncer.syncResult = (pod) => {
      if (pod.metadata.name === 'web' && failures-- > 0) throw new Error('no');
      return { ended: false };
    };
    workers.update({ type: 'create', pod: web() });
    workers.update({ type: 'create', pod: makePod({ metadata: { name: 'db', uid: 'db' } }) });
    await clock.advance('900ms');
    expect(syncer.calls).toEqual(['sync web', 'sync db']);
    await clock.advance('30s');
    expect(syncer.calls).toEqual(['sync web', 'sync db', 'sync web', 'sync web', 'sync web']);
  });

  test('a result with a retry time is synced again at that time', async () => {
    let first = true;
    syncer.syncResult = () => {
      const result = first ? { ended: false, retryAt: clock.now() + 5000 } : { ended: false };
      first = false;
      return result;
    };
    workers.update({ type: 'create', pod: web() });
    await clock.advance('4900ms');
    expect(syncer.calls).toHaveLength(1);
    await clock.advance('200ms');
    expect(syncer.calls).toHaveLength(2);
    await clock.advance('1h');
    expect(syncer.calls).toHaveLength(2);
  });

  test('a sync for an unknown pod does nothing', async () => {
    workers.sync('nobody');
    workers.update({ type: 'sync', pod: web() });
    await clock.settle();
    expect(syncer.calls).toEqual([]);
  });
});

describe('termination', () => {
  test('a deleted pod goes through every state, and is never started again', async () => {
    workers.update({ type: 'create', pod: web() });
    await clock.settle();
    const deleted = web({
      deletionTimestamp: '2026-01-01T00:00:10Z',
      deletionGracePeriodSeconds: 10,
    });
    workers.update({ type: 'update', pod: deleted });
    await clock.settle();
    expect(syncer.calls).toEqual([
      'sync web',
      'terminating web 10',
      'terminated web',
      'finished web',
    ]);
    expect(workers.state('web')).toBe('finished');
    workers.update({ type: 'update', pod: deleted });
    workers.sync('web');
    await clock.settle();
    expect(syncer.calls).toEqual([
      'sync web',
      'terminating web 10',
      'terminated web',
      'finished web',
      'finished web',
    ]);
  });

  test('an ended pod is stopped and cleaned up', async () => {
    syncer.syncResult = () => ({ ended: true });
    workers.update({ type: 'create', pod: web() });
    await clock.settle();
    expect(syncer.calls).toEqual([
      'sync web',
      'terminating web 30',
      'terminated web',
      'finished web',
    ]);
  });

  test('a kill interrupts a sync, and sets its own grace period and status', async () => {
    let aborted = false;
    syncer.syncPod = (_pod: Pod, _first: boolean, signal: AbortSignal) =>
      new Promise<SyncResult>((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(signal.reason);
        }),
      );
    workers.update({ type: 'create', pod: web() });
    await clock.settle();
    const status: StatusChange = (before) => ({ ...before, phase: 'Failed' });
    workers.update({ type: 'kill', pod: web(), kill: { gracePeriodSeconds: 3, status } });
    await clock.settle();
    expect(aborted).toBe(true);
    expect(syncer.calls).toEqual(['terminating web 3', 'terminated web', 'finished web']);
    expect(syncer.statusChanges).toEqual([status]);
  });

  test('a shorter grace period interrupts a longer one; a longer one changes nothing', async () => {
    syncer.terminating = (_pod, grace, signal) =>
      grace <= 5
        ? Promise.resolve()
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    workers.update({ type: 'create', pod: web() });
    workers.update({ type: 'kill', pod: web(), kill: { gracePeriodSeconds: 60 } });
    await clock.settle();
    workers.update({ type: 'kill', pod: web(), kill: { gracePeriodSeconds: 90 } });
    await clock.settle();
    expect(syncer.calls.at(-1)).toBe('terminating web 60');
    workers.update({ type: 'kill', pod: web(), kill: { gracePeriodSeconds: 5 } });
    await clock.settle();
    expect(syncer.calls.slice(-3)).toEqual(['terminating web 5', 'terminated web', 'finished web']);
  });

  test('a failed stop is retried until it succeeds', async () => {
    let failures = 2;
    syncer.terminating = () =>
      failures-- > 0 ? Promise.reject(new Error('still there')) : Promise.resolve();
    workers.update({ type: 'create', pod: web() });
    workers.update({ type: 'kill', pod: web() });
    await clock.advance('30s');
    expect(syncer.calls.filter((call) => call.startsWith('terminating'))).toHaveLength(3);
    expect(workers.isFinished('web')).toBe(true);
  });

  test('a pod that ended before the kubelet started is only cleaned up, if nothing of it runs', async () => {
    stopped = true;
    workers.update({ type: 'create', pod: web({}, { phase: 'Succeeded' }) });
    await clock.settle();
    expect(syncer.calls).toEqual(['terminated web', 'finished web']);
  });

  test('a pod that ended before the kubelet started is stopped, if something of it runs', async () => {
    workers.update({ type: 'create', pod: web({}, { phase: 'Failed' }) });
    await clock.settle();
    expect(syncer.calls).toEqual(['terminating web 30', 'terminated web', 'finished web']);
  });

  test('a pod that only the runtime has is stopped', async () => {
    workers.update({ type: 'kill', pod: web(), runtimeOnly: true });
    await clock.settle();
    expect(syncer.calls).toEqual(['terminating runtime web', 'finished web']);
  });

  test('stop waits for running syncs, and no sync runs afterwards', async () => {
    syncer.syncPod = (_pod: Pod, _first: boolean, signal: AbortSignal) =>
      new Promise<SyncResult>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    workers.update({ type: 'create', pod: web() });
    await clock.settle();
    await workers.stop();
    workers.update({ type: 'update', pod: web() });
    await clock.advance('1m');
    expect(syncer.calls).toEqual([]);
  });
});
