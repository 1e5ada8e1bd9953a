import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import type { TransportRequest } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { PluginRegistration } from './framework/handle.ts';
import type {
  PermitPlugin,
  PostBindPlugin,
  PreBindPlugin,
  ReservePlugin,
} from './framework/plugin.ts';
import { Status } from './framework/status.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';

const isBinding = (request: TransportRequest): boolean => request.path.endsWith('/binding');
const bindings = (requests: readonly string[], pod: string): number =>
  requests.filter((r) => r.endsWith(`/pods/${pod}/binding`)).length;
const profile = (more: Record<string, unknown>, profiles: Record<string, unknown> = {}) => ({
  apiVersion: 'kubescheduler.config.k8s.io/v1',
  kind: 'KubeSchedulerConfiguration',
  profiles: [{ schedulerName: 'default-scheduler', ...profiles }],
  ...more,
});

describe('the scheduler with an API server', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
  });
  afterEach(async () => {
    await cluster.stop();
  });

  test('binds pods to nodes, and records events', async () => {
    await cluster.addNode('n1');
    await cluster.addNode('n2');
    const { logger } = cluster.startScheduler();
    for (const name of ['a', 'b', 'c', 'd'])
      await cluster.addPod(name, { cpu: '1', memory: '1Gi' });
    await cluster.untilBound('a', 'b', 'c', 'd');
    const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => cluster.nodeOf(name)));
    expect(nodes.map(String).sort()).toEqual(['n1', 'n1', 'n2', 'n2']);
    await cluster.clock.advance('1s');
    const [event] = await cluster.eventsOf('a');
    expect(event).toMatchObject({
      type: 'Normal',
      reason: 'Scheduled',
      message: `Successfully assigned default/a to ${await cluster.nodeOf('a')}`,
      source: { component: 'default-scheduler' },
    });
    expect(await cluster.condition('a')).toMatchObject({ status: 'True' });
    expect(logger.problems).toEqual([]);
  });

  test('reports why a pod fits nowhere, and schedules it when there is room', async () => {
    await cluster.addNode('full', { allocatable: { cpu: '1', memory: '1Gi', pods: '10' } });
    await cluster.addNode('tainted', { taints: [{ key: 'k', effect: 'NoSchedule' }] });
    cluster.startScheduler();
    await cluster.addPod('p', { cpu: '2' });
    await cluster.clock.advance('10s');
    const message =
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). ' +
      'no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.';
    expect(await cluster.condition('p')).toMatchObject({
      status: 'False',
      reason: 'Unschedulable',
      message,
      observedGeneration: 1,
    });
    expect(await cluster.eventsOf('p')).toMatchObject([
      { type: 'Warning', reason: 'FailedScheduling', message, count: 1 },
    ]);
    await cluster.addNode('room');
    await cluster.clock.settle();
    expect(await cluster.nodeOf('p')).toBe('room');
    expect(await cluster.condition('p')).toMatchObject({ status: 'True' });
  });

  test('reports that there are no nodes, and schedules as soon as there is one', async () => {
    cluster.startScheduler();
    await cluster.addPod('p');
    await cluster.clock.advance('1m');
    expect(await cluster.condition('p')).toMatchObject({
      reason: 'Unschedulable',
      message: 'no nodes available to schedule pods',
    });
    expect(await cluster.eventsOf('p')).toMatchObject([
      { reason: 'FailedScheduling', message: 'no nodes available to schedule pods' },
    ]);
    await cluster.addNode('n');
    await cluster.clock.settle();
    expect(await cluster.nodeOf('p')).toBe('n');
  });

  test('uses the room that a deleted or finished pod leaves', async () => {
    await cluster.addNode('n', { allocatable: { cpu: '1', memory: '4Gi', pods: '10' } });
    cluster.startScheduler();
    await cluster.addPod('first', { cpu: '1' });
    await cluster.untilBound('first');
    await cluster.addPod('second', { cpu: '1' });
    await cluster.clock.advance('1s');
    expect(await cluster.nodeOf('second')).toBeUndefined();
    const client = cluster.client.resource(pods).namespace('default');
    await client.delete('first', { gracePeriodSeconds: 0 });
    await cluster.untilBound('second');
    await cluster.addPod('third', { cpu: '1' });
    await cluster.clock.advance('1s');
    const second = await client.get('second');
    await client.updateStatus({ ...second, status: { ...second.status, phase: 'Succeeded' } });
    await cluster.untilBound('third');
  });

  test('leaves gated pods alone until their gates are removed', async () => {
    await cluster.addNode('n');
    const { requests } = cluster.startScheduler();
    await cluster.addPod('p', undefined, { schedulingGates: [{ name: 'example.com/gate' }] });
    await cluster.clock.advance('10m');
    expect(await cluster.condition('p')).toMatchObject({ reason: 'SchedulingGated' });
    expect(requests.filter((request) => request.includes('/pods/p'))).toEqual([]);
    const client = cluster.client.resource(pods).namespace('default');
    await client.patch('p', 'application/merge-patch+json', { spec: { schedulingGates: null } });
    await cluster.clock.settle();
    expect(await cluster.nodeOf('p')).toBe('n');
  });

  test('leaves the pods of other schedulers alone', async () => {
    await cluster.addNode('n');
    cluster.startScheduler({ configuration: profile({}, { schedulerName: 'mine' }) });
    await cluster.addPod('other');
    await cluster.addPod('mine', undefined, { schedulerName: 'mine' });
    await cluster.untilBound('mine');
    await cluster.clock.advance('1m');
    expect(await cluster.nodeOf('other')).toBeUndefined();
    expect(await cluster.eventsOf('mine')).toMatchObject([{ source: { component: 'mine' } }]);
  });

  test('retries with back-off when binding fails', async () => {
    await cluster.addNode('n');
    let failures = 3;
    const scheduler = cluster.startScheduler({}, (request, send) => {
      if (isBinding(request) && failures-- > 0)
        throw apierrors.forbidden({ group: '', resource: 'pods/binding' }, 'p', 'not today');
      return send();
    });
    const start = cluster.clock.now();
    await cluster.addPod('p');
    await cluster.untilBound('p');
    // 1 s, 2 s and 4 s of back-off.
    expect(cluster.clock.now() - start).toBe(7000);
    expect(bindings(scheduler.requests, 'p')).toBe(4);
    const failed = (await cluster.eventsOf('p')).filter(
      (event) => event.reason === 'FailedScheduling',
    );
    expect(failed[0]?.message).toBe(
      'running Bind plugin "DefaultBinder": pods/binding "p" is forbidden: not today',
    );
    expect(await cluster.condition('p')).toMatchObject({ status: 'True' });
  });

  test('sets the condition to SchedulerError while binding fails', async () => {
    await cluster.addNode('n');
    cluster.startScheduler({}, (request, send) => {
      if (isBinding(request))
        throw apierrors.forbidden({ group: '', resource: 'pods/binding' }, 'p', 'not today');
      return send();
    });
    await cluster.addPod('p');
    await cluster.clock.advance('30s');
    expect(await cluster.condition('p')).toMatchObject({
      status: 'False',
      reason: 'SchedulerError',
    });
  });

  test('binds once if the response to a binding is lost', async () => {
    await cluster.addNode('n', { allocatable: { cpu: '1', memory: '4Gi', pods: '10' } });
    const scheduler = cluster.startScheduler({}, async (request, send) => {
      const answer = await send();
      if (isBinding(request)) throw apierrors.serviceUnavailable('connection reset');
      return answer;
    });
    await cluster.addPod('p', { cpu: '1' });
    await cluster.addPod('q', { cpu: '1' });
    await cluster.clock.advance('1m');
    expect(bindings(scheduler.requests, 'p') + bindings(scheduler.requests, 'q')).toBe(1);
    expect([await cluster.nodeOf('p'), await cluster.nodeOf('q')].filter(Boolean)).toEqual(['n']);
  });

  test('keeps the room of a pod while it is unknown whether it is bound', async () => {
    await cluster.addNode('n', { allocatable: { cpu: '1', memory: '4Gi', pods: '10' } });
    let down = true;
    const scheduler = cluster.startScheduler({}, (request, send) => {
      // The binding does not arrive, but the scheduler cannot know that: the server does not
      // respond about the pod either.
      if (down && request.path.includes('/pods/p')) throw apierrors.serviceUnavailable('no route');
      return send();
    });
    await cluster.addPod('p', { cpu: '1' });
    await cluster.addPod('q', { cpu: '1' });
    await cluster.clock.advance('30s');
    expect(bindings(scheduler.requests, 'q')).toBe(0);
    expect(await cluster.condition('q')).toMatchObject({
      message:
        '0/1 nodes are available: 1 Insufficient cpu. ' +
        'no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption ' +
        'victims found for incoming pod.',
    });
    down = false;
    await cluster.clock.runUntil(
      async () => [await cluster.nodeOf('p'), await cluster.nodeOf('q')].some(Boolean),
      '1m',
    );
    await cluster.clock.advance('1m');
    expect([await cluster.nodeOf('p'), await cluster.nodeOf('q')].filter(Boolean)).toEqual(['n']);
  });

  test('waits for the list of nodes, however often it fails', async () => {
    await cluster.addNode('n');
    let failures = 3;
    const scheduler = cluster.startScheduler({}, (request, send) => {
      if (request.path === '/api/v1/nodes' && failures-- > 0)
        throw apierrors.internalError('disk on fire');
      return send();
    });
    await cluster.addPod('p');
    await cluster.clock.settle();
    expect(bindings(scheduler.requests, 'p')).toBe(0);
    await cluster.untilBound('p');
    expect(failures).toBeLessThan(0);
    await cluster.clock.advance('1s');
    // There was no earlier attempt.
    expect((await cluster.eventsOf('p')).map((event) => event.reason)).toEqual(['Scheduled']);
  });

  test('drops a pod that is deleted while its binding is in flight', async () => {
    await cluster.addNode('n', { allocatable: { cpu: '1', memory: '4Gi', pods: '10' } });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const scheduler = cluster.startScheduler({}, async (request, send) => {
      if (request.path.endsWith('/p/binding')) await held;
      return await send();
    });
    await cluster.addPod('p', { cpu: '1' });
    await cluster.clock.settle();
    expect(bindings(scheduler.requests, 'p')).toBe(1);
    await cluster.client.resource(pods).namespace('default').delete('p');
    // The deleted pod's resources are free at once.
    await cluster.addPod('q', { cpu: '1' });
    await cluster.untilBound('q');
    release();
    await cluster.clock.advance('1m');
    expect(bindings(scheduler.requests, 'p')).toBe(1);
    expect(scheduler.logger.problems).toEqual([]);
  });

  test('accepts that another scheduler has bound a pod', async () => {
    await cluster.addNode('n');
    await cluster.addNode('m', { unschedulable: true });
    const scheduler = cluster.startScheduler({}, async (request, send) => {
      if (isBinding(request)) {
        const target = {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name: 'p' },
          target: { kind: 'Node', name: 'm' },
        };
        await cluster.client
          .resource(pods)
          .namespace('default')
          .subresource('p', 'binding', target);
      }
      return await send();
    });
    await cluster.addPod('p');
    await cluster.clock.advance('1m');
    expect(await cluster.nodeOf('p')).toBe('m');
    expect(bindings(scheduler.requests, 'p')).toBe(1);
  });

  test('continues after a restart: no pod is bound twice, no node is overcommitted', async () => {
    for (const name of ['n1', 'n2', 'n3'])
      await cluster.addNode(name, { allocatable: { cpu: '4', memory: '32Gi', pods: '110' } });
    const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
    for (const name of names) await cluster.addPod(name, { cpu: '1' });
    // The first one stops after some bindings; the responses of two of them are lost.
    let sent = 0;
    const first = cluster.startScheduler({ bindingConcurrency: 1 }, async (request, send) => {
      if (!isBinding(request)) return await send();
      if (++sent > 5)
        return await new Promise((_resolve, reject) =>
          request.signal?.addEventListener('abort', () => reject(new Error('stopped'))),
        );
      return await send();
    });
    await cluster.clock.settle();
    const stopping = first.stop();
    await cluster.clock.advance('5s');
    await stopping;
    const second = cluster.startScheduler();
    await cluster.clock.advance('1m');
    const { items } = await cluster.client.resource(pods).namespace('default').list();
    const used = new Map<string, number>();
    for (const pod of items)
      if (pod.spec.nodeName) used.set(pod.spec.nodeName, (used.get(pod.spec.nodeName) ?? 0) + 1);
    expect(Object.fromEntries(used)).toEqual({ n1: 4, n2: 4, n3: 4 });
    const bound = names.map(
      (name) => bindings(first.requests, name) + bindings(second.requests, name),
    );
    // Only the binding in flight when the first one stopped was repeated.
    expect(bound.reduce((sum, count) => sum + count, 0)).toBe(5 + 1 + 7);
  });

  test('lets only the leader schedule', async () => {
    await cluster.addNode('n');
    const configuration = profile({ leaderElection: { leaderElect: true } });
    const first = cluster.startScheduler({ configuration, identity: 'first' });
    await cluster.clock.advance('5s');
    const second = cluster.startScheduler({ configuration, identity: 'second' });
    await cluster.addPod('a');
    await cluster.untilBound('a');
    expect([bindings(first.requests, 'a'), bindings(second.requests, 'a')]).toEqual([1, 0]);
    await first.stop();
    await cluster.addPod('b');
    await cluster.untilBound('b');
    expect([bindings(first.requests, 'b'), bindings(second.requests, 'b')]).toEqual([0, 1]);
  });

  test('watches the cluster only while leading, if configured', async () => {
    await cluster.addNode('n');
    const configuration = profile({
      leaderElection: { leaderElect: true },
      delayCacheUntilActive: true,
    });
    const first = cluster.startScheduler({ configuration, identity: 'first' });
    await cluster.addPod('a');
    await cluster.untilBound('a');
    const second = cluster.startScheduler({ configuration, identity: 'second' });
    await cluster.clock.advance('5s');
    const lists = () => second.requests.filter((request) => request === 'GET /api/v1/pods');
    expect(lists()).toEqual([]);
    await first.stop();
    await cluster.addPod('b');
    await cluster.untilBound('b');
    expect(lists()).toHaveLength(1);
  });

  test('schedules by the plugins of the profile', async () => {
    for (const name of ['n1', 'n2', 'n3']) await cluster.addNode(name);
    const plugins = { score: { enabled: [{ name: 'Random' }], disabled: [{ name: '*' }] } };
    cluster.startScheduler({ configuration: profile({}, { plugins }) });
    const names = Array.from({ length: 60 }, (_, i) => `p${i}`);
    for (const name of names) await cluster.addPod(name, { cpu: '10m' });
    await cluster.untilBound(...names);
    const counts = new Map<string | undefined, number>();
    for (const name of names) {
      const node = await cluster.nodeOf(name);
      counts.set(node, (counts.get(node) ?? 0) + 1);
    }
    expect(counts.size).toBe(3);
    // By load it would be 20 each.
    expect([...counts.values()]).not.toEqual([20, 20, 20]);
  });

  test('rejects an unknown plugin or field', () => {
    const start = (configuration: unknown) => () => cluster.startScheduler({ configuration });
    expect(start(profile({}, { plugins: { score: { enabled: [{ name: 'Best' }] } } }))).toThrow(
      /unknown plugin; there are DefaultBinder, /,
    );
    expect(start(profile({ parallelism: 16 }))).toThrow(/parallelism: Forbidden/);
  });
});

describe('the later extension points', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.addNode('n', { allocatable: { cpu: '1', memory: '4Gi', pods: '10' } });
  });
  afterEach(async () => {
    await cluster.stop();
  });

  type Late = Partial<ReservePlugin & PermitPlugin & PreBindPlugin & PostBindPlugin>;
  function startWith(plugins: Readonly<Record<string, Late>>) {
    const registrations: PluginRegistration[] = Object.entries(plugins).map(([name, plugin]) => ({
      name,
      create: () => ({ name, ...plugin }),
    }));
    const multiPoint = { enabled: Object.keys(plugins).map((name) => ({ name })) };
    return cluster.startScheduler({
      plugins: registrations,
      configuration: profile({}, { plugins: { multiPoint } }),
    });
  }

  test('are called in order, and undone in reverse after a rejection', async () => {
    const calls: string[] = [];
    const tracing = (name: string, refuse: boolean): Late => ({
      reserve: () => {
        calls.push(`reserve ${name}`);
        return refuse ? new Status('Unschedulable', ['no']) : undefined;
      },
      unreserve: () => void calls.push(`unreserve ${name}`),
      preBind: async () => {
        calls.push(`preBind ${name}`);
        return undefined;
      },
      postBind: () => void calls.push(`postBind ${name}`),
    });
    startWith({ A: tracing('A', false), B: tracing('B', true) });
    await cluster.addPod('p', { cpu: '1' });
    await cluster.clock.settle();
    expect(calls).toEqual(['reserve A', 'reserve B', 'unreserve B', 'unreserve A']);
    expect(await cluster.condition('p')).toMatchObject({
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 no.',
    });
  });

  test('bind after PreBind, and call PostBind', async () => {
    const calls: string[] = [];
    startWith({
      A: {
        preBind: async () => {
          calls.push(`preBind ${await cluster.nodeOf('p')}`);
          return undefined;
        },
        postBind: () => {
          calls.push('postBind');
          throw new Error('nothing can undo a binding');
        },
      },
    });
    await cluster.addPod('p');
    await cluster.untilBound('p');
    await cluster.clock.advance('1m');
    expect(calls).toEqual(['preBind undefined', 'postBind']);
  });

  test('release reservations when PreBind fails', async () => {
    let failures = 1;
    let held = 0;
    startWith({
      A: {
        reserve: () => void held++,
        unreserve: () => void held--,
        preBind: async () => (failures-- > 0 ? Status.error(new Error('no volume')) : undefined),
      },
    });
    await cluster.addPod('p', { cpu: '1' });
    await cluster.clock.settle();
    expect(held).toBe(0);
    expect(await cluster.condition('p')).toMatchObject({
      reason: 'SchedulerError',
      message: 'running PreBind plugin "A": no volume',
    });
    await cluster.untilBound('p');
    expect(held).toBe(1);
  });

  test('delay a pod as long as Permit requests, with its resources kept', async () => {
    startWith({
      A: {
        permit: (_state, pod) =>
          pod.pod.metadata.name === 'p'
            ? { status: new Status('Wait', []), timeoutMs: 10_000 }
            : { status: undefined },
      },
    });
    await cluster.addPod('p', { cpu: '1' });
    await cluster.addPod('q', { cpu: '1' });
    await cluster.clock.advance('9s');
    expect([await cluster.nodeOf('p'), await cluster.nodeOf('q')]).toEqual([undefined, undefined]);
    await cluster.untilBound('q');
    await cluster.clock.advance('1s');
    const messages = (await cluster.eventsOf('p')).map((event) => event.message);
    expect(messages).toContain(
      '0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A.',
    );
  });

  test('bind a waiting pod when its plugin allows it', async () => {
    const registration: PluginRegistration = {
      name: 'Pairs',
      create: (_args, { waitingPods }) => ({
        name: 'Pairs',
        /** The first pod waits for the second. */
        permit(): ReturnType<PermitPlugin['permit']> {
          const [other] = waitingPods.values();
          if (other === undefined) return { status: new Status('Wait', []), timeoutMs: 60_000 };
          other.allow('Pairs');
          return { status: undefined };
        },
      }),
    };
    const plugins = { multiPoint: { enabled: [{ name: 'Pairs' }] } };
    cluster.startScheduler({ plugins: [registration], configuration: profile({}, { plugins }) });
    await cluster.addPod('p');
    await cluster.clock.advance('30s');
    expect(await cluster.nodeOf('p')).toBeUndefined();
    await cluster.addPod('q');
    await cluster.clock.settle();
    expect([await cluster.nodeOf('p'), await cluster.nodeOf('q')]).toEqual(['n', 'n']);
  });
});
