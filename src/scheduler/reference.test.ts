// Tests the default profile against the plain reference implementation, for random clusters with
// random changes between two pods: feasible nodes and reasons of rejections, scores of every
// plugin, and victims of preemption. State that the scheduler keeps between pods (snapshots,
// results by template, counts) is the likely source of errors.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '#client/create-client.ts';
import type { TransportRequest } from '#client/transport.ts';
import { readConfiguration } from './config/configuration.ts';
import { resolveProfile } from './profile.ts';
import { CycleState } from './framework/cycle-state.ts';
import { Framework } from './framework/framework.ts';
import type { NodeInfo } from './framework/node-info.ts';
import { layoutOf } from './framework/node-memo.ts';
import { NodeToStatus } from './framework/node-to-status.ts';
import type { Node } from './framework/objects.ts';
import { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';
import { WaitingPods } from './framework/waiting-pods.ts';
import { inTreeRegistry } from './plugins/registry.ts';
import { makeHandle } from './testing/handle.ts';
import type { NodeOptions } from './testing/objects.ts';
import {
  anyNode,
  anyPod,
  type AnyPod,
  competingPod,
  GPU,
  nodeAffinity,
  smallNode,
} from './testing/random-pods.ts';
import { NAMESPACES } from './testing/random-cluster.ts';
import type { ReferenceWorld } from './testing/reference.ts';
import {
  bestOf,
  preemptions,
  type ReferenceArgs,
  refusal,
  scoresByPlugin,
} from './testing/reference-scheduler.ts';
import {
  BUDGETS,
  COLORS,
  index,
  SERVICES,
  type Step,
  stepsOf,
  World,
} from './testing/random-world.ts';
import { staticInformers, type StaticInformers } from './testing/static-informers.ts';

/** More runs for a thorough test: REFERENCE_RUNS=5000. */
const RUNS = Number(process.env['REFERENCE_RUNS'] ?? 80);
/** Weights that make the sum of weighted scores reveal the score of each plugin. */
const SCORING = [
  'TaintToleration',
  'NodeAffinity',
  'NodeResourcesFit',
  'PodTopologySpread',
  'InterPodAffinity',
  'NodeResourcesBalancedAllocation',
  'ImageLocality',
] as const;
const BASE = 128;

const strategy: fc.Arbitrary<ReferenceArgs['strategy']> = fc
  .record({
    type: fc.constantFrom(
      'LeastAllocated' as const,
      'MostAllocated' as const,
      'RequestedToCapacityRatio' as const,
    ),
    resources: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('cpu', 'memory', 'ephemeral-storage', GPU),
        weight: fc.integer({ min: 1, max: 5 }),
      }),
      { minLength: 1, maxLength: 4, selector: ({ name }) => name },
    ),
    shape: fc.constantFrom(
      [
        { utilization: 0, score: 0 },
        { utilization: 100, score: 10 },
      ],
      [
        { utilization: 10, score: 10 },
        { utilization: 40, score: 3 },
        { utilization: 90, score: 7 },
      ],
    ),
  })
  .map(({ shape, ...made }) =>
    made.type === 'RequestedToCapacityRatio' ? { ...made, shape } : made,
  );

const args: fc.Arbitrary<ReferenceArgs> = fc
  .record(
    {
      // Usually none: it keeps most pods off most nodes.
      added: fc.oneof(
        { weight: 6, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: nodeAffinity },
      ),
      ignoredResources: fc.constantFrom([], [], [GPU]),
      strategy,
      balanced: fc.constantFrom(
        ['cpu', 'memory'],
        ['cpu', 'memory', 'ephemeral-storage'],
        ['memory'],
        ['cpu', 'memory', GPU],
      ),
      hardPodAffinityWeight: fc.constantFrom(0, 1, 50),
      ignorePreferredTermsOfExistingPods: fc.boolean(),
    },
    {
      requiredKeys: [
        'added',
        'ignoredResources',
        'strategy',
        'balanced',
        'hardPodAffinityWeight',
        'ignorePreferredTermsOfExistingPods',
      ],
    },
  )
  .map((made) => made as ReferenceArgs);

function configurationOf({
  added,
  ignoredResources,
  strategy: chosen,
  balanced,
  ...affinity
}: ReferenceArgs): unknown {
  const { type, resources, shape } = chosen;
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [
      {
        pluginConfig: [
          ...(added === undefined
            ? []
            : [{ name: 'NodeAffinity', args: { addedAffinity: added } }]),
          {
            name: 'NodeResourcesFit',
            args: {
              ignoredResources,
              scoringStrategy: {
                type,
                resources,
                ...(shape !== undefined && { requestedToCapacityRatio: { shape } }),
              },
            },
          },
          {
            name: 'NodeResourcesBalancedAllocation',
            args: { resources: balanced.map((name) => ({ name, weight: 1 })) },
          },
          { name: 'InterPodAffinity', args: affinity },
        ],
      },
    ],
  };
}

interface Scenario {
  readonly args: ReferenceArgs;
  readonly nodes: readonly NodeOptions[];
  readonly start: readonly { readonly pod: AnyPod; readonly node: number }[];
  /** One of these pods is evaluated after each step. */
  readonly pods: readonly AnyPod[];
  readonly steps: readonly (readonly [step: Step, pod: number])[];
  readonly offset: number;
}

interface Seen {
  passed: number;
  refused: number;
  /** Plugins that gave nodes different scores. */
  readonly different: Set<string>;
  readonly reasons: Set<string>;
  preempted: number;
  /** How often no budget could be respected. */
  violated: number;
  helpless: number;
}

const newSeen = (): Seen => ({
  passed: 0,
  refused: 0,
  different: new Set(),
  reasons: new Set(),
  preempted: 0,
  violated: 0,
  helpless: 0,
});

const DEFAULT_ARGS: ReferenceArgs = {
  ignoredResources: [],
  strategy: {
    type: 'LeastAllocated',
    resources: [
      { name: 'cpu', weight: 1 },
      { name: 'memory', weight: 1 },
    ],
  },
  balanced: ['cpu', 'memory'],
  hardPodAffinityWeight: 1,
  ignorePreferredTermsOfExistingPods: false,
};

interface Written {
  readonly name: string;
  readonly contentType: string | undefined;
}

/** Records writes of pod statuses by the scheduler. */
function recordingClient(written: Written[]) {
  const refuse = (): never => {
    throw new Error('not used here');
  };
  return createClient({
    request: async <T>({ path, contentType }: TransportRequest) => {
      const name = /\/pods\/([^/]+)\/status$/.exec(path)?.[1];
      if (name !== undefined) written.push({ name, contentType });
      return {} as T;
    },
    watch: refuse,
    text: refuse,
    stream: refuse,
    close: () => undefined,
  });
}

describe('the default profile', () => {
  let known: StaticInformers;
  beforeAll(async () => {
    known = staticInformers({
      '/api/v1/namespaces': NAMESPACES.map((name) => ({
        metadata: { name, labels: COLORS[name] },
      })),
      '/apis/policy/v1/poddisruptionbudgets': BUDGETS.map(
        ({ namespace, selector, allowed }, i) => ({
          metadata: { namespace, name: `b${i}` },
          spec: { selector: { matchLabels: selector } },
          status: { disruptionsAllowed: allowed },
        }),
      ),
      '/api/v1/services': SERVICES.map(({ namespace, selector }, i) => ({
        metadata: { namespace, name: `s${i}` },
        spec: { selector },
      })),
    });
    // Creates the plugins, so that they request their informers.
    const [first] = fc.sample(args, 1);
    if (first !== undefined) frameworkFor(new World(), first, []);
    await known.start();
  });
  afterAll(() => known.stop());

  function frameworkFor(world: World, made: ReferenceArgs, written: Written[]): Framework {
    const [profile] = readConfiguration(configurationOf(made)).profiles;
    if (profile === undefined) throw new Error('there is a profile');
    const handle = makeHandle({
      snapshot: world.snapshot,
      informers: known.informers,
      nominator: world.queue,
      client: recordingClient(written),
    });
    const plugins = resolveProfile(profile, inTreeRegistry, handle);
    const weights = new Map<string, number>(SCORING.map((name, i) => [name, BASE ** i]));
    return new Framework({
      profileName: profile.schedulerName,
      plugins: {
        ...plugins,
        score: plugins.score.map(({ plugin }) => ({
          plugin,
          weight: weights.get(plugin.name) ?? 0,
        })),
      },
      clock: handle.clock,
      nominator: world.queue,
      waitingPods: new WaitingPods(),
    });
  }

  /** Applies random steps, and evaluates a pod after each. Adds to `seen`. */
  async function play(
    { args: made, nodes, start, pods, steps, offset }: Scenario,
    seen: Seen,
  ): Promise<void> {
    const world = new World();
    nodes.forEach((as, node) => world.apply({ kind: 'putNode', node, as }));
    for (const { pod, node } of start) world.apply({ kind: 'addPod', pod, node });
    const written: Written[] = [];
    const framework = frameworkFor(world, made, written);

    const check = async (template: AnyPod): Promise<void> => {
      // A new pod each time, with the same template, so that it meets remembered results.
      const pod = new PodInfo(world.make({ ...template, deleting: false }));
      world.refresh();
      const { truth, snapshot } = world;
      expect(new Set(snapshot.nodes.map(({ name }) => name))).toEqual(new Set(world.nodes.keys()));
      if (snapshot.nodes.length === 0) return;
      const expected = truth.nodes.map((node) =>
        refusal(pod.pod, node, truth, world.nominatedOn(node.metadata.name), made),
      );
      const state = new CycleState();
      const statuses = new NodeToStatus();
      const feasible: { readonly node: NodeInfo; readonly position: number }[] = [];
      const pre = framework.filtering.runPreFilter(state, pod, snapshot.nodes);
      if (pre.status !== undefined) {
        // Rejected for every node.
        expect(expected.every((one) => one !== undefined)).toBe(true);
        statuses.setAbsent(pre.status);
      } else {
        const filter = framework.filtering.nodeFilter(state, pod, snapshot);
        snapshot.nodes.forEach((node, position) => {
          if (pre.nodeNames?.has(node.name) === false) {
            expect(expected[position]).toBeDefined();
            return;
          }
          const answer = framework.filtering.runNodeFilter(filter, state, pod, node, position);
          const wanted = expected[position];
          expect([...(answer?.reasons ?? [])].sort(), node.name).toEqual(wanted?.reasons ?? []);
          if (answer === undefined) {
            feasible.push({ node, position });
            seen.passed++;
            return;
          }
          expect(answer.code).toBe(
            wanted?.hopeless === true ? 'UnschedulableAndUnresolvable' : 'Unschedulable',
          );
          statuses.set(node, answer, position);
          seen.refused++;
          for (const reason of answer.reasons) seen.reasons.add(reason);
        });
        if (pre.nodeNames !== undefined)
          statuses.setAbsent(new Status('UnschedulableAndUnresolvable', []));
      }
      if (feasible.length === 0) await checkVictims(state, pod, statuses, truth);
      else checkScores(state, pod, feasible, truth);
    };

    const checkScores = (
      state: CycleState,
      pod: PodInfo,
      feasible: readonly { readonly node: NodeInfo; readonly position: number }[],
      truth: ReferenceWorld,
    ): void => {
      // Not always all nodes: the search may end before it has evaluated every node.
      const chosen =
        feasible.length < 3 ? feasible : feasible.filter((_, i) => i % 4 !== offset % 4);
      const infos = chosen.map(({ node }) => node);
      expect(framework.scoring.runPreScore(state, pod, infos)).toBeUndefined();
      const positions = chosen.map(({ position }) => position);
      const totals = framework.scoring.runScore(
        state,
        pod,
        infos,
        positions,
        layoutOf(world.snapshot),
      );
      if (totals instanceof Status) throw new Error(totals.message);
      const wanted = scoresByPlugin(
        pod.pod,
        infos.map(({ node }) => node as Node),
        truth,
        made,
      );
      SCORING.forEach((name, i) => {
        const given = totals.map((total) => Math.trunc(total / BASE ** i) % BASE);
        expect(given, name).toEqual(wanted[name]);
        if (new Set(given).size > 1) seen.different.add(name);
      });
    };

    const checkVictims = async (
      state: CycleState,
      pod: PodInfo,
      statuses: NodeToStatus,
      truth: ReferenceWorld,
    ): Promise<void> => {
      const candidates = preemptions(pod.pod, truth, (node) => world.nominatedOn(node), made);
      written.length = 0;
      const result = await framework.runPostFilter(state, pod, statuses);
      if (candidates === undefined) return;
      if (candidates.length === 0) {
        seen.helpless++;
        expect(result).toMatchObject({ nominatedNode: '', status: { code: 'Unschedulable' } });
        return;
      }
      seen.preempted++;
      const best = bestOf(candidates);
      if (best.some(({ violating }) => violating.length > 0)) seen.violated++;
      const taken = best.find(({ node }) => node === result.nominatedNode);
      expect(best.map(({ node }) => node)).toContain(result.nominatedNode);
      const named = (type: string): readonly string[] =>
        written.filter(({ contentType }) => contentType === type).map(({ name }) => name);
      const going = (taken?.victims ?? []).filter(
        ({ metadata }) => metadata.deletionTimestamp === undefined,
      );
      expect(new Set(named('application/strategic-merge-patch+json'))).toEqual(
        new Set(going.map(({ metadata }) => metadata.name)),
      );
      const passedBy = world
        .nominatedOn(taken?.node ?? '')
        .filter((other) => (other.spec.priority ?? 0) < pod.priority);
      expect(new Set(named('application/merge-patch+json'))).toEqual(
        new Set(passedBy.map(({ metadata }) => metadata.name)),
      );
    };

    for (const template of pods) await check(template);
    for (const [one, which] of steps) {
      world.apply(one);
      await check(pods[which % pods.length]!);
    }
    for (const template of pods) await check(template);
  }

  /**
   * Runs the test, and returns which cases occurred, so that a test can check that the comparison
   * was meaningful.
   */
  async function agrees(
    pod: fc.Arbitrary<AnyPod>,
    node: fc.Arbitrary<NodeOptions>,
    numRuns: number,
    { pods: podCount, placed: most }: { readonly pods: number; readonly placed: number },
  ): Promise<Seen> {
    const seen = newSeen();
    const scenarios: fc.Arbitrary<Scenario> = fc.record({
      args,
      nodes: fc.array(node, { minLength: 1, maxLength: 5 }),
      start: fc.array(fc.record({ pod, node: index }), { maxLength: most }),
      pods: fc.array(pod, { minLength: 1, maxLength: podCount }),
      steps: fc.array(fc.tuple(stepsOf(pod, node), index), { minLength: 2, maxLength: 10 }),
      offset: index,
    });
    await fc.assert(
      fc.asyncProperty(scenarios, (scenario) => play(scenario, seen)),
      { numRuns },
    );
    return seen;
  }

  test('agrees with the reference on nodes and scores, after any changes between two pods', async () => {
    const seen = await agrees(anyPod, anyNode, RUNS, { pods: 3, placed: 10 });
    expect(Math.min(seen.passed, seen.refused)).toBeGreaterThan(RUNS);
    expect(seen.different.size).toBeGreaterThan(3);
    expect(seen.reasons.size).toBeGreaterThan(6);
  });

  test('agrees with the reference on victims', async () => {
    const seen = await agrees(competingPod, smallNode, RUNS, { pods: 2, placed: 24 });
    expect(Math.min(seen.preempted, seen.helpless)).toBeGreaterThan(RUNS / 20);
  });

  test('violates budgets only if nothing else helps', async () => {
    const of = (priority: number, labels: Readonly<Record<string, string>> = {}): AnyPod => ({
      namespace: 'red',
      labels,
      deleting: false,
      started: 0,
      spec: {
        priority,
        containers: [{ name: 'c', image: 'app', resources: { requests: { cpu: '1' } } }],
      },
    });
    const small = { allocatable: { cpu: '1', memory: '8Gi', pods: '10' } };
    const seen = newSeen();
    await play(
      {
        args: DEFAULT_ARGS,
        nodes: [small, small],
        // The budget does not allow the first pods to be evicted, although they are less important.
        start: [
          { pod: of(-5, { tier: 'x' }), node: 0 },
          { pod: of(5), node: 1 },
        ],
        pods: [of(10)],
        steps: [[{ kind: 'removeNode', node: 1 }, 0]],
        offset: 0,
      },
      seen,
    );
    expect(seen).toMatchObject({ preempted: 3, violated: 2 });
  });

  test('considers start times of pods, also if nothing else has changed', async () => {
    const of = (priority: number): AnyPod => ({
      namespace: 'red',
      labels: {},
      deleting: false,
      spec: {
        priority,
        containers: [{ name: 'c', image: 'app', resources: { requests: { cpu: '1' } } }],
      },
    });
    const seen = newSeen();
    const nothing: Step = { kind: 'removeNode', node: 4 };
    const start = (pod: number): Step => ({ kind: 'startPod', pod });
    await play(
      {
        args: DEFAULT_ARGS,
        nodes: [
          { allocatable: { cpu: '1', memory: '8Gi', pods: '10' } },
          { allocatable: { cpu: '1', memory: '8Gi', pods: '10' } },
        ],
        start: [
          { pod: of(0), node: 0 },
          { pod: of(0), node: 1 },
        ],
        pods: [of(10)],
        // Evaluated until results are remembered; then one pod starts, and the other one later.
        steps: [nothing, nothing, start(0), start(1), nothing, nothing, nothing, nothing].map(
          (one) => [one, 0],
        ),
        offset: 0,
      },
      seen,
    );
    expect(seen.preempted).toBe(10);
  });
});
