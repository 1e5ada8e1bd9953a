import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { PodInfo } from '../framework/pod-info.ts';
import { RecordingLogger } from '../testing/handle.ts';
import { makeNode, makePod, makePodInfo } from '../testing/objects.ts';
import { SchedulerCache } from './cache.ts';
import { Snapshot } from './snapshot.ts';

function newCache(assumedPodTtlMs?: number) {
  const clock = new VirtualClock();
  const logger = new RecordingLogger();
  return {
    clock,
    logger,
    cache: new SchedulerCache({ clock, logger, assumedPodTtlMs }),
    snapshot: new Snapshot(),
  };
}

function onNode(name: string, node: string, cpu = '1'): PodInfo {
  return makePodInfo(name, { requests: { cpu }, spec: { nodeName: node } });
}

function nodeIn(snapshot: Snapshot, name: string): NodeInfo {
  const node = snapshot.get(name);
  if (node === undefined) throw new Error(`${name} is not in the snapshot`);
  return node;
}

describe('SchedulerCache', () => {
  test('counts an assumed pod, and counts it once when its event arrives', () => {
    const { cache, snapshot } = newCache();
    cache.putNode(makeNode('n'));
    cache.assumePod(makePodInfo('p', { requests: { cpu: '1' } }), 'n');
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').requested.milliCpu).toBe(1000);
    expect(cache.isAssumed('uid-p')).toBe(true);
    cache.putPod(onNode('p', 'n'));
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').requested.milliCpu).toBe(1000);
    expect([cache.isAssumed('uid-p'), cache.podCount]).toEqual([false, 1]);
  });

  test('keeps the versions of a node when a pod’s update changes nothing that is counted', () => {
    const { cache, snapshot } = newCache();
    const pod = (change: { readonly phase?: 'Running'; readonly app?: string }): PodInfo => {
      const labelSelector = { matchLabels: { app: change.app ?? 'a' } };
      const term = { topologyKey: 'zone', labelSelector };
      const affinity = {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
      };
      return makePodInfo('p', {
        spec: { nodeName: 'n', affinity },
        ...(change.phase && { status: { phase: change.phase } }),
      });
    };
    cache.putNode(makeNode('n'));
    cache.assumePod(pod({}), 'n');
    cache.updateSnapshot(snapshot);
    const before = nodeIn(snapshot, 'n');
    cache.putPod(pod({}));
    cache.putPod(pod({ phase: 'Running' }));
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n')).toBe(before);
    expect([...before.pods].map((info) => info.pod.status.phase)).toEqual(['Running']);
    const other = pod({ app: 'b' });
    cache.putPod(other);
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').podsWithAffinity).toEqual([other]);
    cache.putPod(pod({ app: 'b' }));
    cache.removePod(other.uid);
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').podsWithAffinity).toEqual([]);
  });

  test('rejects assuming a pod that is on a node already', () => {
    const { cache } = newCache();
    cache.assumePod(makePodInfo('p'), 'n');
    expect(() => cache.assumePod(makePodInfo('p'), 'm')).toThrow(/in the cache already, on node n/);
  });

  test('forgets an assumed pod, but not a bound one', () => {
    const { cache, snapshot } = newCache();
    cache.putNode(makeNode('n'));
    cache.assumePod(makePodInfo('p', { requests: { cpu: '1' } }), 'n');
    expect(cache.forgetPod('uid-p')).toBe(true);
    expect(cache.forgetPod('uid-p')).toBe(false);
    cache.putPod(onNode('q', 'n', '2'));
    expect(cache.forgetPod('uid-q')).toBe(false);
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').requested.milliCpu).toBe(2000);
  });

  test('trusts the API server if the pod is on another node than assumed', () => {
    const { cache, snapshot, logger } = newCache();
    for (const name of ['n', 'm']) cache.putNode(makeNode(name));
    cache.assumePod(makePodInfo('p', { requests: { cpu: '1' } }), 'n');
    cache.putPod(onNode('p', 'm'));
    cache.updateSnapshot(snapshot);
    expect([nodeIn(snapshot, 'n').pods.length, nodeIn(snapshot, 'm').pods.length]).toEqual([0, 1]);
    expect(logger.problems).toEqual(['scheduler: a pod is on another node than assumed']);
  });

  test('lets assumed pods expire only after their binding, and only if configured', async () => {
    const { cache, clock } = newCache(30_000);
    cache.assumePod(makePodInfo('bound'), 'n');
    cache.assumePod(makePodInfo('binding'), 'n');
    cache.finishBinding('uid-bound');
    await clock.advance('29s');
    cache.expireAssumedPods();
    expect(cache.assumedPodCount).toBe(2);
    await clock.advance('1s');
    cache.expireAssumedPods();
    expect([cache.isAssumed('uid-bound'), cache.isAssumed('uid-binding')]).toEqual([false, true]);

    const forEver = newCache();
    forEver.cache.assumePod(makePodInfo('p'), 'n');
    forEver.cache.finishBinding('uid-p');
    await forEver.clock.advance('48h');
    forEver.cache.expireAssumedPods();
    expect(forEver.cache.isAssumed('uid-p')).toBe(true);
  });

  test('keeps the pods of a removed node until they are removed, too', () => {
    const { cache, snapshot } = newCache();
    cache.putPod(onNode('early', 'n'));
    cache.updateSnapshot(snapshot);
    expect(snapshot.nodes).toEqual([]);
    cache.putNode(makeNode('n'));
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').pods.length).toBe(1);
    cache.removeNode('n');
    cache.updateSnapshot(snapshot);
    expect(snapshot.get('n')).toBeUndefined();
    cache.putNode(makeNode('n'));
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'n').requested.milliCpu).toBe(1000);
  });

  test('replaces only changed nodes in a snapshot, and never changes the nodes of an earlier one', () => {
    const { cache, snapshot } = newCache();
    for (const name of ['a', 'b', 'c']) cache.putNode(makeNode(name));
    cache.updateSnapshot(snapshot);
    const before = [...snapshot.nodes];
    cache.assumePod(makePodInfo('p', { requests: { cpu: '1' } }), 'b');
    cache.updateSnapshot(snapshot);
    expect(snapshot.nodes.map((node, i) => node === before[i])).toEqual([true, false, true]);
    expect(before[1]?.requested.milliCpu).toBe(0);
    expect(snapshot.nodes[1]?.requested.milliCpu).toBe(1000);
  });

  test('updates several snapshots independently', () => {
    const { cache, snapshot } = newCache();
    const other = new Snapshot();
    cache.putNode(makeNode('n'));
    cache.updateSnapshot(snapshot);
    cache.putPod(onNode('p', 'n'));
    cache.updateSnapshot(other);
    cache.updateSnapshot(snapshot);
    expect([nodeIn(snapshot, 'n').pods.length, nodeIn(other, 'n').pods.length]).toEqual([1, 1]);
  });

  test('alternates zones', () => {
    const { cache, snapshot } = newCache();
    for (const [name, zone] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['a3', 'a'],
      ['b1', 'b'],
      ['c1', 'c'],
    ] as const) {
      cache.putNode(makeNode(name, { labels: { 'topology.kubernetes.io/zone': zone } }));
    }
    cache.updateSnapshot(snapshot);
    expect(snapshot.nodes.map((node) => node.name)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
    cache.putNode(makeNode('a2', { labels: { 'topology.kubernetes.io/zone': 'b' } }));
    cache.updateSnapshot(snapshot);
    expect(snapshot.nodes.map((node) => node.name)).toEqual(['a1', 'b1', 'c1', 'a3', 'a2']);
  });

  test('counts the nodes that have an image', () => {
    const { cache, snapshot } = newCache();
    const images = [{ names: ['i:1', 'i@sha256:1'], sizeBytes: 100 }];
    cache.putNode(makeNode('a', { images }));
    cache.putNode(makeNode('b', { images }));
    cache.putNode(makeNode('c'));
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'a').images.get('i:1')).toEqual({ sizeBytes: 100, nodes: 2 });
    cache.removeNode('b');
    expect(nodeIn(snapshot, 'a').images.get('i:1')?.nodes).toBe(1);
    cache.putNode(makeNode('a'));
    cache.updateSnapshot(snapshot);
    expect(nodeIn(snapshot, 'a').images.size).toBe(0);
  });
});

describe('SchedulerCache, with random changes', () => {
  const node = fc.integer({ min: 0, max: 3 }).map((i) => `n${i}`);
  const pod = fc.integer({ min: 0, max: 5 }).map((i) => `p${i}`);
  const cpu = fc.constantFrom('100m', '1', '2500m');
  const command = fc.oneof(
    fc.record({ do: fc.constant('putNode' as const), node, zone: fc.constantFrom('a', 'b') }),
    fc.record({ do: fc.constant('removeNode' as const), node }),
    fc.record({ do: fc.constant('assume' as const), pod, node, cpu }),
    fc.record({ do: fc.constant('forget' as const), pod }),
    fc.record({
      do: fc.constant('put' as const),
      pod,
      node,
      cpu,
      port: fc.option(fc.constantFrom(80, 443), { nil: undefined }),
    }),
    fc.record({ do: fc.constant('remove' as const), pod }),
    fc.record({ do: fc.constant('snapshot' as const) }),
  );

  test('has the same sums as a recount, and its snapshot is equal', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const { cache, snapshot } = newCache();
        const nodes = new Set<string>();
        const pods = new Map<
          string,
          { readonly info: PodInfo; readonly node: string; readonly assumed: boolean }
        >();
        for (const step of commands) {
          switch (step.do) {
            case 'putNode':
              nodes.add(step.node);
              cache.putNode(
                makeNode(step.node, { labels: { 'topology.kubernetes.io/zone': step.zone } }),
              );
              break;
            case 'removeNode':
              nodes.delete(step.node);
              cache.removeNode(step.node);
              break;
            case 'assume': {
              if (pods.has(step.pod)) break;
              const info = makePodInfo(step.pod, { requests: { cpu: step.cpu } });
              cache.assumePod(info, step.node);
              pods.set(step.pod, { info, node: step.node, assumed: true });
              break;
            }
            case 'forget':
              cache.forgetPod(`uid-${step.pod}`);
              if (pods.get(step.pod)?.assumed) pods.delete(step.pod);
              break;
            case 'put': {
              const made = makePod(step.pod, {
                requests: { cpu: step.cpu },
                spec: { nodeName: step.node },
              });
              const ports =
                step.port === undefined ? [] : [{ containerPort: step.port, hostPort: step.port }];
              const [container] = made.spec.containers;
              if (container === undefined) throw new Error('a pod has a container');
              const info = new PodInfo({
                ...made,
                spec: { ...made.spec, containers: [{ ...container, ports }] },
              });
              cache.putPod(info);
              pods.set(step.pod, { info, node: step.node, assumed: false });
              break;
            }
            case 'remove':
              cache.removePod(`uid-${step.pod}`);
              pods.delete(step.pod);
              break;
            case 'snapshot':
              cache.updateSnapshot(snapshot);
          }
        }
        cache.updateSnapshot(snapshot);
        expect(snapshot.nodes.map(({ name }) => name).sort()).toEqual([...nodes].sort());
        for (const info of snapshot.nodes) {
          const here = [...pods.values()]
            .filter((entry) => entry.node === info.name)
            .map((entry) => entry.info);
          expect(Array.from(info.pods, ({ key }) => key).sort()).toEqual(
            here.map(({ key }) => key).sort(),
          );
          expect(info.requested.milliCpu).toBe(
            here.reduce((sum, { requests }) => sum + requests.milliCpu, 0),
          );
          expect(info.nonZeroMemory).toBe(
            here.reduce((sum, { nonZeroMemory }) => sum + nonZeroMemory, 0),
          );
          const portsOf = (ports: readonly { readonly port: number }[]): number[] =>
            ports.map(({ port }) => port).sort((a, b) => a - b);
          expect(portsOf(info.usedPorts)).toEqual(
            portsOf(here.flatMap(({ hostPorts }) => hostPorts)),
          );
        }
        expect(cache.podCount).toBe(pods.size);
        expect(cache.assumedPodCount).toBe(
          [...pods.values()].filter(({ assumed }) => assumed).length,
        );
      }),
    );
  });
});
