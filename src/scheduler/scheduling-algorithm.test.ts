import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { SchedulerCache } from './cache/cache.ts';
import { Snapshot } from './cache/snapshot.ts';
import { readConfiguration } from './config/configuration.ts';
import { resolveProfile } from './profile.ts';
import { CycleState } from './framework/cycle-state.ts';
import { fitErrorMessage } from './framework/fit-error.ts';
import { Framework } from './framework/framework.ts';
import type { Node } from './framework/objects.ts';
import type { FilterPlugin, PreFilterPlugin, ScorePlugin } from './framework/plugin.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';
import { WaitingPods } from './framework/waiting-pods.ts';
import { inTreeRegistry, registryOf } from './plugins/registry.ts';
import { numFeasibleNodesToFind, SchedulingAlgorithm } from './scheduling-algorithm.ts';
import { makeHandle, RecordingLogger } from './testing/handle.ts';
import { makeNode, makePodInfo } from './testing/objects.ts';

type TestPlugin = Partial<PreFilterPlugin & FilterPlugin & ScorePlugin>;

interface SetUp {
  readonly nodes?: readonly Node[];
  readonly plugins?: Readonly<Record<string, TestPlugin>>;
  /**
   * Uses a profile with the default plugins; false: with `plugins` only (and the required ones).
   */
  readonly defaults?: boolean;
  readonly nominated?: Readonly<Record<string, readonly PodInfo[]>>;
  readonly percentageOfNodesToScore?: number;
  readonly seed?: number;
}

function setUp({
  nodes = [],
  plugins = {},
  defaults = true,
  nominated = {},
  percentageOfNodesToScore,
  seed = 1,
}: SetUp) {
  const clock = new VirtualClock();
  const random = new SeededRandom(seed);
  const cache = new SchedulerCache({ clock, logger: new RecordingLogger() });
  for (const node of nodes) cache.putNode(node);
  const snapshot = new Snapshot();
  cache.updateSnapshot(snapshot);
  const nominator = {
    nominatedPodsForNode: (node: string) => nominated[node] ?? [],
    isEmpty: () => Object.keys(nominated).length === 0,
    version: (node: string) => (nominated[node] === undefined ? 0 : 1),
    nominatedNode: () => undefined,
  };
  const registry = registryOf([
    ...inTreeRegistry.values(),
    ...Object.entries(plugins).map(([name, plugin]) => ({
      name,
      create: () => ({ name, ...plugin }),
    })),
  ]);
  const configuration = readConfiguration({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [
      {
        plugins: {
          multiPoint: {
            enabled: Object.keys(plugins).map((name) => ({ name })),
            ...(!defaults && { disabled: [{ name: '*' }] }),
          },
          ...(!defaults && {
            queueSort: { enabled: [{ name: 'PrioritySort' }] },
            bind: { enabled: [{ name: 'DefaultBinder' }] },
          }),
        },
      },
    ],
  });
  const [profile] = configuration.profiles;
  if (profile === undefined) throw new Error('there is a profile');
  const framework = new Framework({
    profileName: profile.schedulerName,
    plugins: resolveProfile(profile, registry, makeHandle({ snapshot, random, nominator })),
    percentageOfNodesToScore,
    clock,
    nominator,
    waitingPods: new WaitingPods(),
  });
  const algorithm = new SchedulingAlgorithm({ snapshot, random });
  const schedule = (pod: PodInfo) => {
    cache.updateSnapshot(snapshot);
    return algorithm.schedule(framework, new CycleState(), pod);
  };
  const nodeFor = (pod: PodInfo): string => {
    const result = schedule(pod);
    if (result.kind !== 'node')
      throw new Error(
        `no node: ${result.kind === 'unfit' ? fitErrorMessage(result.diagnosis) : result.kind}`,
      );
    return result.node;
  };
  const refusal = (pod: PodInfo): string => {
    const result = schedule(pod);
    if (result.kind !== 'unfit') throw new Error(`not refused: ${result.kind}`);
    return fitErrorMessage(result.diagnosis);
  };
  return { cache, snapshot, schedule, nodeFor, refusal };
}

const nodesNamed = (count: number): Node[] =>
  Array.from({ length: count }, (_, i) => makeNode(`n${i}`));

describe('scheduling one pod', () => {
  test('reports that there are no nodes', () => {
    expect(setUp({}).schedule(makePodInfo('p'))).toEqual({ kind: 'noNodes' });
  });

  test('chooses the least allocated node by default', () => {
    const { cache, nodeFor } = setUp({ nodes: nodesNamed(3) });
    cache.putPod(
      makePodInfo('a', { requests: { cpu: '2', memory: '16Gi' }, spec: { nodeName: 'n0' } }),
    );
    cache.putPod(
      makePodInfo('b', { requests: { cpu: '1', memory: '8Gi' }, spec: { nodeName: 'n2' } }),
    );
    expect(nodeFor(makePodInfo('p', { requests: { cpu: '1', memory: '8Gi' } }))).toBe('n1');
  });

  test('has upstream’s message for a rejection, without preemption since no plugin preempts', () => {
    const taints = [{ key: 'k', effect: 'NoSchedule' as const }];
    const { refusal } = setUp({
      nodes: [
        makeNode('a'),
        makeNode('b'),
        ...['c', 'd', 'e'].map((name) => makeNode(name, { taints })),
      ],
    });
    expect(refusal(makePodInfo('p', { requests: { cpu: '5' } }))).toBe(
      '0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).',
    );
  });

  test('returns the plugins that rejected', () => {
    const { schedule } = setUp({ nodes: [makeNode('a'), makeNode('b', { unschedulable: true })] });
    const result = schedule(makePodInfo('p', { requests: { cpu: '5' } }));
    expect(result).toMatchObject({
      kind: 'unfit',
      diagnosis: { unschedulablePlugins: new Set(['NodeResourcesFit', 'NodeUnschedulable']) },
    });
  });

  test('evaluates only nodes that PreFilter names, and counts the others', () => {
    const affinity = (values: string[]) => ({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In' as const, values }] },
          ],
        },
      },
    });
    const { nodeFor, refusal } = setUp({ nodes: nodesNamed(4) });
    expect(nodeFor(makePodInfo('p', { spec: { affinity: affinity(['n2']) } }))).toBe('n2');
    expect(
      refusal(
        makePodInfo('p', { requests: { cpu: '5' }, spec: { affinity: affinity(['n2', 'gone']) } }),
      ),
    ).toBe(
      "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) [NodeAffinity].",
    );
  });

  test('names the plugins that together leave no node', () => {
    const only = (...names: string[]): TestPlugin => ({
      preFilter: () => ({ nodeNames: new Set(names) }),
    });
    const { refusal } = setUp({
      nodes: nodesNamed(3),
      plugins: { B: only('n0', 'n1'), A: only('n2') },
    });
    expect(refusal(makePodInfo('p'))).toBe(
      "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously.",
    );
  });

  test('lets PreFilter reject all nodes, and prefers an unresolvable rejection', () => {
    const refusing = (
      code: 'Unschedulable' | 'UnschedulableAndUnresolvable',
      reason: string,
    ): TestPlugin => ({
      preFilter: () => new Status(code, [reason]),
    });
    const { schedule, refusal } = setUp({
      nodes: nodesNamed(2),
      plugins: {
        A: refusing('Unschedulable', 'not now'),
        B: refusing('UnschedulableAndUnresolvable', 'never'),
      },
    });
    expect(refusal(makePodInfo('p'))).toBe('0/2 nodes are available: never.');
    expect(schedule(makePodInfo('p'))).toMatchObject({
      diagnosis: { unschedulablePlugins: new Set(['B']) },
    });
  });

  test('does not run the Filter of a plugin that skips in PreFilter', () => {
    const skipping: TestPlugin = {
      preFilter: () => new Status('Skip', []),
      filter: () => new Status('Unschedulable', ['must not be asked']),
    };
    expect(
      setUp({ nodes: nodesNamed(1), plugins: { Skipping: skipping } }).nodeFor(makePodInfo('p')),
    ).toBe('n0');
  });

  test('fails with the message of a failing filter', () => {
    const breaking: TestPlugin = { filter: () => Status.error(new Error('boom')) };
    const { schedule } = setUp({ nodes: nodesNamed(1), plugins: { Breaking: breaking } });
    expect(schedule(makePodInfo('p'))).toMatchObject({
      kind: 'error',
      status: { reasons: ['running "Breaking" filter plugin: boom'] },
    });
  });

  test('rejects scores out of range', () => {
    const { schedule } = setUp({ nodes: nodesNamed(2), plugins: { Wild: { score: () => 101 } } });
    expect(schedule(makePodInfo('p'))).toMatchObject({
      kind: 'error',
      status: {
        reasons: [
          'plugin "Wild" returns an invalid score 101, it should in the range of [0, 100] after normalizing',
        ],
      },
    });
  });

  test('chooses the first feasible node without score plugins', () => {
    let asked = 0;
    const counting: TestPlugin = {
      filter: () => {
        asked++;
        return undefined;
      },
    };
    const { nodeFor } = setUp({
      nodes: nodesNamed(5),
      plugins: { Counting: counting },
      defaults: false,
    });
    expect([nodeFor(makePodInfo('p')), nodeFor(makePodInfo('p')), asked]).toEqual(['n0', 'n1', 2]);
  });

  test('chooses any of the best nodes, and the same one for the same seed', () => {
    const chosen = (seed: number): string[] => {
      const { nodeFor } = setUp({
        nodes: nodesNamed(4),
        plugins: { Flat: { score: () => 1 } },
        defaults: false,
        seed,
      });
      return Array.from({ length: 200 }, () => nodeFor(makePodInfo('p')));
    };
    expect(new Set(chosen(1))).toEqual(new Set(['n0', 'n1', 'n2', 'n3']));
    expect(chosen(1)).toEqual(chosen(1));
    expect(chosen(1)).not.toEqual(chosen(2));
  });

  test('evaluates no more nodes than needed, and continues where it stopped', () => {
    const seen: string[] = [];
    const watching: TestPlugin = {
      filter: (_state, _pod, node) => {
        seen.push(node.name);
        return undefined;
      },
      score: () => 0,
    };
    const { nodeFor } = setUp({
      nodes: nodesNamed(300),
      plugins: { Watching: watching },
      defaults: false,
    });
    nodeFor(makePodInfo('p'));
    // 48 % of 300 nodes.
    expect(seen).toEqual(nodesNamed(144).map((node) => node.metadata.name));
    nodeFor(makePodInfo('q'));
    expect([seen.length, seen[144]]).toEqual([288, 'n144']);
  });

  test('leaves room for nominated pods of equal or higher priority', () => {
    const nominated = makePodInfo('nominated', { requests: { cpu: '3' }, spec: { priority: 5 } });
    const { nodeFor, refusal } = setUp({ nodes: nodesNamed(1), nominated: { n0: [nominated] } });
    expect(refusal(makePodInfo('p', { requests: { cpu: '2' }, spec: { priority: 5 } }))).toBe(
      '0/1 nodes are available: 1 Insufficient cpu.',
    );
    expect(nodeFor(makePodInfo('p', { requests: { cpu: '2' }, spec: { priority: 6 } }))).toBe('n0');
    expect(nodeFor(makePodInfo('p', { requests: { cpu: '1' } }))).toBe('n0');
  });

  test('chooses the pod’s nominated node if it fits', () => {
    const { cache, nodeFor } = setUp({ nodes: nodesNamed(3) });
    cache.putPod(makePodInfo('x', { requests: { cpu: '2' }, spec: { nodeName: 'n1' } }));
    const nominated = { status: { nominatedNodeName: 'n1' } };
    expect(nodeFor(makePodInfo('p', { requests: { cpu: '1' }, ...nominated }))).toBe('n1');
    expect(nodeFor(makePodInfo('p', { requests: { cpu: '3' }, ...nominated }))).not.toBe('n1');
  });
});

describe('numFeasibleNodesToFind', () => {
  test.each([
    [0, 10, 10],
    [0, 99, 99],
    [0, 100, 100],
    [0, 1000, 420],
    [0, 5000, 500],
    [0, 6000, 300],
    [0, 20000, 1000],
    [40, 1000, 400],
    [5, 1000, 100],
    [100, 5000, 5000],
  ])('%i%% of %i nodes: %i', (percentage, nodes, expected) => {
    expect(numFeasibleNodesToFind(percentage, nodes)).toBe(expected);
  });
});

describe('scheduling any pods one after the other', () => {
  const size = fc.record({
    cpu: fc.integer({ min: 1, max: 4 }),
    memory: fc.integer({ min: 1, max: 4 }),
  });

  test('overcommits no node, and rejects only pods that fit nowhere', () => {
    fc.assert(
      fc.property(
        fc.array(size, { minLength: 1, maxLength: 6 }),
        fc.array(size, { maxLength: 25 }),
        fc.integer(),
        (sizes, wanted, seed) => {
          const list = ({ cpu, memory }: { cpu: number; memory: number }) => ({
            cpu: String(cpu),
            memory: `${memory}Gi`,
          });
          const { cache, schedule } = setUp({
            nodes: sizes.map((each, i) =>
              makeNode(`n${i}`, { allocatable: { ...list(each), pods: '3' } }),
            ),
            seed,
          });
          const left = sizes.map((each) => ({ ...each, pods: 3 }));
          wanted.forEach((want, i) => {
            const pod = makePodInfo(`p${i}`, { requests: list(want) });
            const room = left.filter(
              (node) => node.pods > 0 && node.cpu >= want.cpu && node.memory >= want.memory,
            );
            const result = schedule(pod);
            expect(result.kind).toBe(room.length > 0 ? 'node' : 'unfit');
            if (result.kind !== 'node') return;
            cache.assumePod(pod, result.node);
            const node = left[Number(result.node.slice(1))];
            if (node === undefined) throw new Error(`there is no ${result.node}`);
            node.pods--;
            node.cpu -= want.cpu;
            node.memory -= want.memory;
          });
          for (const node of left)
            expect(Math.min(node.pods, node.cpu, node.memory)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});
