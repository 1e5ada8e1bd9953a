import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import {
  ActionType,
  assignedPodAdd,
  assignedPodDelete,
  clusterEvent,
  type ClusterEventWithHint,
  nodeAdd,
} from '../framework/events.ts';
import type { PreEnqueuePlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import { byPriority } from '../plugins/priority-sort.ts';
import { schedulingGates } from '../plugins/scheduling-gates.ts';
import { makeHandle, RecordingLogger } from '../testing/handle.ts';
import { makePod, makePodInfo, type PodOptions } from '../testing/objects.ts';
import { backoffMs, type QueuedPod } from './queued-pod.ts';
import { SchedulingQueue, type SchedulingQueueConfig } from './scheduling-queue.ts';

const gates = schedulingGates.create(
  { value: undefined, path: 'args' },
  makeHandle(),
) as PreEnqueuePlugin;

/** Fit registers for nodes with the label `fits` and deleted pods; Port for deleted pods. */
const registrations: Readonly<Record<string, readonly ClusterEventWithHint[]>> = {
  Fit: [
    {
      event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeAllocatable, 'Node'),
      hint: (_pod, { after }) => (after as { readonly fits?: boolean }).fits === true,
    },
    { event: assignedPodDelete },
  ],
  Port: [{ event: assignedPodDelete }],
  Claim: [{ event: clusterEvent('ResourceClaim', ActionType.UpdateOther, 'ResourceClaim') }],
  Broken: [
    {
      event: nodeAdd,
      hint: () => {
        throw new Error('hint');
      },
    },
  ],
  [gates.name]: gates.eventsToRegister?.() ?? [],
};

function newQueue(config: Partial<SchedulingQueueConfig> = {}) {
  const clock = new VirtualClock();
  const logger = new RecordingLogger();
  const queue = new SchedulingQueue({
    clock,
    logger,
    less: byPriority,
    preEnqueue: new Map([['default-scheduler', [gates]]]),
    registrations: new Map([['default-scheduler', new Map(Object.entries(registrations))]]),
    popFromBackoff: false,
    ...config,
  });
  const stop = new AbortController();
  queue.run(stop.signal);
  const add = (name: string, options?: PodOptions): PodInfo => {
    const info = makePodInfo(name, options);
    queue.add(info);
    return info;
  };
  const popped = (): QueuedPod => {
    const pod = queue.tryPop();
    if (pod === undefined) throw new Error('there is no pod');
    return pod;
  };
  const name = (pod: QueuedPod | undefined): string | undefined => pod?.info.pod.metadata.name;
  /** Pops the next pod and rejects it by these plugins. */
  const refuse = (...plugins: readonly string[]): QueuedPod => {
    const pod = popped();
    pod.unschedulablePlugins = new Set(plugins);
    queue.addUnschedulable(pod);
    return pod;
  };
  return { clock, logger, queue, stop, add, popped, refuse, name };
}

const fits = { after: { fits: true } };
const fitsNot = { after: { fits: false } };

describe('SchedulingQueue', () => {
  test('pops by priority, then by age', async () => {
    const { queue, clock, add, name } = newQueue();
    add('old');
    add('old2');
    await clock.advance(10);
    add('important', { spec: { priority: 10 } });
    add('young');
    expect([1, 2, 3, 4].map(() => name(queue.tryPop()))).toEqual([
      'important',
      'old',
      'old2',
      'young',
    ]);
    expect(queue.tryPop()).toBeUndefined();
  });

  test('waits for a pod, and ends with the signal', async () => {
    const { queue, add, stop, name } = newQueue();
    const waiting = queue.pop(stop.signal);
    add('p');
    expect(name(await waiting)).toBe('p');
    const last = queue.pop(stop.signal);
    stop.abort();
    expect(await last).toBeUndefined();
  });

  test('keeps a rejected pod until an event that may help it', async () => {
    const { queue, clock, add, refuse, name } = newQueue();
    add('p');
    refuse('Fit');
    queue.moveAll(assignedPodAdd, {});
    queue.moveAll(nodeAdd, fitsNot);
    expect(queue.counts()).toMatchObject({ active: 0, backoff: 0, unschedulable: 1 });
    queue.moveAll(nodeAdd, fits);
    expect(queue.counts()).toMatchObject({ active: 0, backoff: 1, unschedulable: 0 });
    await clock.advance(999);
    expect(queue.tryPop()).toBeUndefined();
    await clock.advance(1);
    expect(name(queue.tryPop())).toBe('p');
  });

  test('queues at once if the back-off is over', async () => {
    const { queue, clock, add, refuse } = newQueue();
    add('p');
    refuse('Fit');
    await clock.advance('2s');
    queue.moveAll(nodeAdd, fits);
    expect(queue.counts()).toMatchObject({ active: 1, backoff: 0, unschedulable: 0 });
  });

  test('wakes only pods whose plugins registered for the event', () => {
    const { queue, add, refuse } = newQueue();
    add('fit');
    refuse('Fit');
    add('port');
    const port = refuse('Port');
    queue.moveAll(nodeAdd, fits);
    expect([queue.get('uid-fit')?.place, port.place]).toEqual(['backoff', 'unschedulable']);
    queue.moveAll(assignedPodDelete, {});
    expect(port.place).toBe('backoff');
  });

  test('queues a pod if the hint fails', () => {
    const { queue, add, refuse, logger } = newQueue();
    add('p');
    const pod = refuse('Broken');
    queue.moveAll(nodeAdd, fits);
    expect(pod.place).toBe('backoff');
    expect(logger.problems).toHaveLength(1);
  });

  test('does not lose an event during an attempt', () => {
    const { queue, add, popped } = newQueue();
    add('p');
    const pod = popped();
    queue.moveAll(nodeAdd, fits);
    pod.unschedulablePlugins = new Set(['Fit']);
    queue.addUnschedulable(pod);
    expect(pod.place).toBe('backoff');
    expect(queue.counts()).toMatchObject({ inFlight: 0, inFlightEvents: 0 });
  });

  test('evaluates hints for such events, and only for those since the pod was popped', () => {
    const { queue, add, popped } = newQueue();
    add('a');
    add('b');
    const a = popped();
    queue.moveAll(nodeAdd, fits);
    const b = popped();
    queue.moveAll(nodeAdd, fitsNot);
    for (const pod of [a, b]) {
      pod.unschedulablePlugins = new Set(['Fit']);
      queue.addUnschedulable(pod);
    }
    expect([a.place, b.place]).toEqual(['backoff', 'unschedulable']);
  });

  test('drops events that no pod in flight needs', () => {
    const { queue, add, popped } = newQueue();
    add('a');
    add('b');
    const a = popped();
    queue.moveAll(nodeAdd, fits);
    queue.moveAll(nodeAdd, fits);
    const b = popped();
    queue.moveAll(nodeAdd, fits);
    expect(queue.counts()).toMatchObject({ inFlight: 2, inFlightEvents: 3 });
    queue.done(a.info.uid);
    expect(queue.counts()).toMatchObject({ inFlight: 1, inFlightEvents: 1 });
    queue.done(b.info.uid);
    expect(queue.counts()).toMatchObject({ inFlight: 0, inFlightEvents: 0 });
  });

  test('backs off after an error: 1 s, doubled up to 10 s', async () => {
    const { queue, clock, add, popped } = newQueue({ popFromBackoff: true });
    add('p');
    const delays: number[] = [];
    for (let i = 0; i < 6; i++) {
      queue.addUnschedulable(popped());
      const start = clock.monotonic();
      await clock.runUntil(() => queue.counts().active === 1);
      delays.push(clock.monotonic() - start);
    }
    expect(delays).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  test('pops a pod in back-off if no other is active, unless its back-off is due to an error', async () => {
    const { queue, add, refuse, popped, name } = newQueue({ popFromBackoff: true });
    add('refused');
    refuse('Fit');
    queue.moveAll(nodeAdd, fits);
    add('broken');
    queue.addUnschedulable(popped());
    expect(queue.counts()).toMatchObject({ backoff: 2 });
    expect(name(queue.tryPop())).toBe('refused');
    expect(queue.tryPop()).toBeUndefined();
  });

  test('retries a pod after five minutes without an event', async () => {
    const { clock, add, refuse } = newQueue();
    add('p');
    const pod = refuse('Fit');
    await clock.advance('5m');
    expect(pod.place).toBe('unschedulable');
    expect(pod.wasFlushed).toBe(false);
    await clock.advance('30s');
    expect(pod.place).toBe('active');
    expect(pod.wasFlushed).toBe(true);
    // Attempted and rejected again: the wait starts anew.
    expect(refuse('Fit').wasFlushed).toBe(false);
  });

  test('leaves gated pods alone until their gates are removed', async () => {
    const { queue, clock, add, logger } = newQueue();
    const gated = add('p', { spec: { schedulingGates: [{ name: 'a' }, { name: 'b' }] } });
    expect(queue.counts()).toMatchObject({ active: 0, gated: 1, unschedulable: 0 });
    queue.moveAll(nodeAdd, fits);
    queue.moveAll(assignedPodDelete, {});
    await clock.advance('1h');
    const one = makePodInfo('p', { spec: { schedulingGates: [{ name: 'b' }] } });
    queue.update(gated, one);
    expect(queue.counts()).toMatchObject({ active: 0, gated: 1 });
    queue.update(one, makePodInfo('p'));
    expect(queue.counts()).toMatchObject({ active: 1, gated: 0 });
    expect(logger.problems).toEqual([]);
  });

  test('queues a pod without back-off for the event it was pending on', () => {
    const { queue, add, popped } = newQueue();
    add('p');
    const pod = popped();
    pod.pendingPlugins = new Set(['Claim']);
    pod.unschedulablePlugins = new Set(['Fit']);
    queue.addUnschedulable(pod);
    queue.moveAll(clusterEvent('ResourceClaim', ActionType.UpdateOther, 'ResourceClaimUpdate'), {});
    expect(pod.place).toBe('active');
  });

  test('updates a pod in its place', () => {
    const { queue, add, name } = newQueue();
    const a = add('a');
    add('b');
    queue.update(a, makePodInfo('a', { spec: { priority: -1 } }));
    expect([name(queue.tryPop()), name(queue.tryPop())]).toEqual(['b', 'a']);
  });

  test('treats an update of a rejected pod as an event', () => {
    const tolerated: readonly ClusterEventWithHint[] = [
      { event: clusterEvent('UnscheduledPod', ActionType.UpdatePodToleration, 'PodToleration') },
    ];
    const { queue, add, refuse } = newQueue({
      registrations: new Map([['default-scheduler', new Map([['Taint', tolerated]])]]),
    });
    const before = add('p');
    const pod = refuse('Taint');
    const labelled = makePodInfo('p', { labels: { a: 'b' } });
    queue.update(before, labelled);
    expect(pod.place).toBe('unschedulable');
    queue.update(labelled, makePodInfo('p', { spec: { tolerations: [{ operator: 'Exists' }] } }));
    expect(pod.place).toBe('backoff');
  });

  test('requeues the pod in its newest version', () => {
    const { queue, add, popped } = newQueue();
    add('p');
    const pod = popped();
    const now = makePodInfo('p', { spec: { priority: 7 } });
    pod.unschedulablePlugins = new Set(['Fit']);
    queue.addUnschedulable(pod, now);
    expect(queue.get('uid-p')?.info).toBe(now);
  });

  test('deletes the pod from any place', async () => {
    const { queue, clock, add, refuse, popped } = newQueue();
    add('active');
    queue.delete('uid-active');
    add('refused');
    refuse('Fit');
    queue.delete('uid-refused');
    add('broken');
    queue.addUnschedulable(popped());
    queue.delete('uid-broken');
    add('gated', { spec: { schedulingGates: [{ name: 'g' }] } });
    queue.delete('uid-gated');
    await clock.advance('10m');
    expect(queue.counts()).toEqual({
      active: 0,
      backoff: 0,
      unschedulable: 0,
      gated: 0,
      inFlight: 0,
      inFlightEvents: 0,
    });
  });

  test('activates without back-off, also in flight', () => {
    const { queue, add, refuse, popped } = newQueue();
    const p = add('p');
    const pod = refuse('Fit');
    queue.activate([p.pod]);
    expect(pod.place).toBe('active');
    const again = popped();
    add('other');
    const other = popped();
    queue.activate([p.pod]);
    for (const each of [again, other]) {
      each.unschedulablePlugins = new Set(['Fit']);
      queue.addUnschedulable(each);
    }
    expect([again.place, other.place]).toEqual(['backoff', 'unschedulable']);
  });

  test('keeps nominations, by the scheduler or by the status', () => {
    const { queue, add } = newQueue();
    const p = add('p', { status: { nominatedNodeName: 'n1' } });
    expect(queue.nominatedPodsForNode('n1')).toEqual([p]);
    queue.nominate(p, 'n2');
    expect([queue.nominatedPodsForNode('n1'), queue.nominatedPodsForNode('n2')]).toEqual([[], [p]]);
    // The status does not show n2 yet, and the update changes another field.
    const labelled = makePodInfo('p', { labels: { a: 'b' }, status: { nominatedNodeName: 'n1' } });
    queue.update(p, labelled);
    expect(queue.nominatedNode('uid-p')).toBe('n2');
    queue.update(labelled, makePodInfo('p'));
    expect(queue.nominatedNode('uid-p')).toBeUndefined();
    queue.nominate(p, 'n3');
    queue.delete('uid-p');
    expect(queue.nominatedPodsForNode('n3')).toEqual([]);
  });

  test('holds a pod back if PreEnqueue fails', () => {
    const failing: PreEnqueuePlugin = {
      name: 'Failing',
      preEnqueue: () => Status.error(new Error('boom')),
    };
    const { queue, add, logger } = newQueue({
      preEnqueue: new Map([['default-scheduler', [failing]]]),
    });
    add('p');
    expect(queue.counts()).toMatchObject({ active: 0, gated: 1 });
    expect(logger.problems).toHaveLength(1);
  });
});

describe('backoffMs', () => {
  test.each([
    [0, 0, 0],
    [1, 0, 1000],
    [3, 0, 4000],
    [5, 0, 10_000],
    // Consecutive errors count instead, if there are any.
    [5, 1, 1000],
    [1, 1000, 10_000],
  ])(
    'after %i refusals and %i errors: %i ms',
    (unschedulableCount, consecutiveErrors, expected) => {
      expect(
        backoffMs({ unschedulableCount, consecutiveErrors }, { initialMs: 1000, maxMs: 10_000 }),
      ).toBe(expected);
    },
  );
});

describe('SchedulingQueue with many unschedulable pods', () => {
  test('calls no hint of pods that an event does not concern', () => {
    let asked = 0;
    const hinted: readonly ClusterEventWithHint[] = [
      {
        event: nodeAdd,
        hint: () => {
          asked++;
          return false;
        },
      },
    ];
    const { queue, add, refuse } = newQueue({
      registrations: new Map([['default-scheduler', new Map([['Fit', hinted]])]]),
    });
    for (let i = 0; i < 1000; i++) {
      add(`p${i}`);
      refuse('Fit');
    }
    queue.moveAll(assignedPodAdd, { after: makePod('x') });
    queue.moveAll(assignedPodDelete, { before: makePod('x') });
    expect(asked).toBe(0);
    queue.moveAll(nodeAdd, {});
    expect(asked).toBe(1000);
  });
});
