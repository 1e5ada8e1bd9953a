// InterPodAffinity and PodTopologySpread against the reference implementation, for random clusters
// with random changes.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { namespaces, type PodSpec, services } from '#api/groups/core/v1/index.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import { CycleState } from '../framework/cycle-state.ts';
import type { Handle, PluginRegistration } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type {
  FilterPlugin,
  PreFilterPlugin,
  PreScorePlugin,
  ScorePlugin,
} from '../framework/plugin.ts';
import { PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import { startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { makeHandle, RecordingLogger } from '../testing/handle.ts';
import {
  affinitySpec,
  NAMESPACES,
  RandomCluster,
  randomNode,
  randomPod,
  randomSteps,
  spreadSpec,
  twist,
} from '../testing/random-cluster.ts';
import {
  affinityScores,
  affinityVerdict,
  type ReferenceWorld,
  spreadScores,
  spreadVerdict,
} from '../testing/reference.ts';
import { interPodAffinity } from './inter-pod-affinity/inter-pod-affinity.ts';
import { podTopologySpread } from './pod-topology-spread/pod-topology-spread.ts';

type FullPlugin = PreFilterPlugin & FilterPlugin & PreScorePlugin & ScorePlugin;

const RUNS = 300;

function verdicts(
  plugin: FullPlugin,
  state: CycleState,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): readonly string[] {
  return nodes.map((node) => plugin.filter(state, pod, node)?.message ?? 'ok');
}

/**
 * Returns the scores; all 0 if the plugin skips. `positions`: of the nodes, to score by them where
 * the plugin can.
 */
function scores(
  plugin: FullPlugin,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  positions?: readonly number[],
): readonly number[] {
  const state = new CycleState();
  if (plugin.preScore(state, pod, nodes, positions)?.code === 'Skip') return nodes.map(() => 0);
  const made = nodes.map(() => -1);
  const byPosition =
    positions !== undefined &&
    plugin.scoreByPosition?.(state, pod, nodes, positions, made) === true;
  if (!byPosition)
    nodes.forEach((node, i) => {
      made[i] = plugin.score(state, pod, node);
    });
  plugin.normalizeScore?.(state, pod, made, nodes);
  return made;
}

interface Reference {
  verdict(pod: Pod, node: Node, world: ReferenceWorld): string;
  scores(pod: Pod, nodes: readonly Node[], world: ReferenceWorld): readonly number[];
}

describe('plugins that look at other pods', () => {
  let cluster: TestCluster;
  let informers: SharedInformerFactory;
  /** Sees services, so that the pods that they select have constraints by default. */
  let withServices: SharedInformerFactory;
  const stop = new AbortController();

  beforeAll(async () => {
    cluster = await startTestCluster();
    const colors = { red: { color: 'warm' }, green: { color: 'cold' }, blue: {} };
    for (const name of NAMESPACES) {
      await cluster.client
        .resource(namespaces)
        .create({ metadata: { name, labels: colors[name] } });
    }
    const random = new SeededRandom('informers');
    informers = new SharedInformerFactory({
      client: cluster.client,
      clock: cluster.clock,
      random,
      logger: new RecordingLogger(),
    });
    for (const [namespace, selector] of [
      ['red', { app: 'a' }],
      ['green', { tier: 'x' }],
    ] as const)
      await cluster.client
        .resource(services)
        .namespace(namespace)
        .create({ metadata: { name: 'group' }, spec: { selector, ports: [{ port: 80 }] } });
    informers.informerFor(namespaces);
    informers.start(stop.signal);
    await informers.waitForCacheSync(stop.signal);
    withServices = new SharedInformerFactory({
      client: cluster.client,
      clock: cluster.clock,
      random,
      logger: new RecordingLogger(),
    });
    withServices.informerFor(services);
    withServices.start(stop.signal);
    await withServices.waitForCacheSync(stop.signal);
  });
  afterAll(async () => {
    stop.abort();
    await informers.stopped();
    await withServices.stopped();
    await cluster.stop();
  });

  function worldOf(
    nodes: readonly NodeInfo[],
    podsOn: (node: NodeInfo) => readonly PodInfo[] = ({ pods }) => [...pods],
  ): ReferenceWorld {
    const byName = new Map(nodes.map((node) => [node.name, podsOn(node).map(({ pod }) => pod)]));
    return {
      nodes: nodes.map(({ node }) => node as Node),
      podsOn: (name) => byName.get(name) ?? [],
      namespaceLabels: (name) =>
        informers.informerFor(namespaces).lister.get('', name)?.metadata.labels ?? {},
    };
  }

  /**
   * Checks that the plugin agrees with the reference on a cluster, after each step, and with
   * hypothetically added and removed pods.
   */
  function agrees(
    registration: PluginRegistration,
    spec: fc.Arbitrary<Partial<PodSpec>>,
    reference: Reference,
  ): void {
    const worlds = fc.record({
      nodes: fc.array(randomNode, { minLength: 1, maxLength: 6 }),
      steps: randomSteps(spec),
      start: fc.array(fc.record({ pod: randomPod(fc.constant({})), node: fc.nat({ max: 20 }) }), {
        maxLength: 24,
      }),
      first: randomPod(spec),
      like: fc.oneof(
        twist.map((more) => ({ spec: more })),
        fc.record({ labels: randomPod(spec).map((pod) => pod.labels) }),
      ),
      tried: randomPod(spec),
      at: fc.nat({ max: 20 }),
    });
    let [refused, passed, different] = [0, 0, 0];
    const property = fc.property(worlds, ({ nodes, start, steps, first, like, tried, at }) => {
      const random = new RandomCluster(nodes);
      const handle: Partial<Handle> = { snapshot: random.snapshot, informers };
      const plugin = registration.create(
        { value: undefined, path: 'args' },
        makeHandle(handle),
      ) as FullPlugin;
      for (const { pod, node } of start) random.apply({ kind: 'addPod', pod, node });
      random.refresh();
      // The second pod differs only in fields that the plugin must distinguish.
      const second = {
        ...first,
        ...like,
        spec: { ...first.spec, ...('spec' in like && like.spec) },
      };
      const pods = [first, second].map(
        (pod) => new PodInfo(random.make({ ...pod, deleting: false })),
      );
      const check = (): void => {
        const infos = random.snapshot.nodes;
        const world = worldOf(infos);
        for (const pod of pods) {
          const expected = infos.map(({ node }) => reference.verdict(pod.pod, node as Node, world));
          const state = new CycleState();
          const answer = plugin.preFilter(state, pod, infos);
          if (answer instanceof Status) {
            expect(answer.code).toBe('Skip');
            expect(expected.every((verdict) => verdict === 'ok')).toBe(true);
          } else {
            expect(verdicts(plugin, state, pod, infos)).toEqual(expected);
            tryOut(state, pod, infos);
            expect(verdicts(plugin, state, pod, infos)).toEqual(expected);
          }
          for (const verdict of expected)
            if (verdict === 'ok') passed++;
            else refused++;
          // Some of the nodes, as if the others had been rejected.
          const scored = infos.filter((_, i) => i % 3 !== at % 3);
          if (scored.length === 0) continue;
          const wanted = reference.scores(
            pod.pod,
            scored.map(({ node }) => node as Node),
            world,
          );
          expect(scores(plugin, pod, scored)).toEqual(wanted);
          const positions = infos.flatMap((_, i) => (i % 3 !== at % 3 ? [i] : []));
          // The array of a search is longer than its result.
          expect(scores(plugin, pod, scored, [...positions, 0, 0])).toEqual(wanted);
          if (new Set(wanted).size > 1) different++;
        }
      };
      /** Adds a hypothetical pod, and removes an existing one, on the same node. */
      const tryOut = (state: CycleState, pod: PodInfo, infos: readonly NodeInfo[]): void => {
        const target = infos[at % infos.length]!;
        const more = new PodInfo(random.make(tried, { nodeName: target.name }));
        const less = [...target.pods][at % Math.max(1, target.pods.length)];
        const trial = state.clone();
        plugin.addPod?.(trial, pod, more, target);
        if (less !== undefined) plugin.removePod?.(trial, pod, less, target);
        const world = worldOf(infos, (node) =>
          node === target ? [...node.pods.filter((other) => other !== less), more] : [...node.pods],
        );
        expect(verdicts(plugin, trial, pod, infos)).toEqual(
          infos.map(({ node }) => reference.verdict(pod.pod, node as Node, world)),
        );
      };
      check();
      for (const step of steps) {
        random.apply(step);
        random.refresh();
        if (random.snapshot.nodes.length > 0) check();
      }
    });
    fc.assert(property, { numRuns: RUNS });
    // The clusters contain enough cases for a comparison.
    expect(Math.min(refused, passed, different)).toBeGreaterThan(RUNS / 3);
  }

  test('InterPodAffinity agrees with the reference', () => {
    const words = {
      ok: 'ok',
      affinity: "node(s) didn't match pod affinity rules",
      'anti-affinity': "node(s) didn't match pod anti-affinity rules",
      existing: "node(s) didn't satisfy existing pods anti-affinity rules",
    };
    agrees(interPodAffinity, affinitySpec, {
      verdict: (pod, node, world) => words[affinityVerdict(pod, node, world)],
      scores: (pod, nodes, world) => affinityScores(pod, nodes, world, 1),
    });
  });

  test('PodTopologySpread agrees with the reference', () => {
    const words = {
      ok: 'ok',
      skewed: "node(s) didn't match pod topology spread constraints",
      'missing label':
        "node(s) didn't match pod topology spread constraints (missing required label)",
    };
    const soft = (pod: Pod): boolean =>
      (pod.spec.topologySpreadConstraints ?? []).some(
        (constraint) => constraint.whenUnsatisfiable === 'ScheduleAnyway',
      );
    agrees(podTopologySpread, spreadSpec, {
      verdict: (pod, node, world) => words[spreadVerdict(pod, node, world)],
      scores: (pod, nodes, world) =>
        soft(pod) ? spreadScores(pod, nodes, world) : nodes.map(() => 0),
    });
  });

  test('PodTopologySpread scores by position as by node, with constraints of the pod and by default', () => {
    const worlds = fc.record({
      nodes: fc.array(randomNode, { minLength: 1, maxLength: 6 }),
      steps: randomSteps(fc.constant({})),
      tried: randomPod(
        fc.oneof(
          fc.record({ nodeSelector: fc.constantFrom<Record<string, string>>({}, { rack: 'r1' }) }),
          spreadSpec,
        ),
      ),
      at: fc.nat({ max: 20 }),
    });
    let different = 0;
    const property = fc.property(worlds, ({ nodes, steps, tried, at }) => {
      const random = new RandomCluster(nodes);
      const plugin = podTopologySpread.create(
        { value: undefined, path: 'args' },
        makeHandle({ snapshot: random.snapshot, informers: withServices }),
      ) as FullPlugin;
      const pod = new PodInfo(random.make({ ...tried, deleting: false }));
      for (const step of steps) {
        random.apply(step);
        random.refresh();
        const infos = random.snapshot.nodes;
        const positions = infos.flatMap((_, i) => (i % 3 !== at % 3 ? [i] : []));
        const scored = positions.map((position) => infos[position]!);
        if (scored.length === 0) continue;
        const expected = scores(plugin, pod, scored);
        expect(scores(plugin, pod, scored, [...positions, 0, 0])).toEqual(expected);
        if (new Set(expected).size > 1) different++;
      }
    });
    fc.assert(property, { numRuns: RUNS });
    expect(different).toBeGreaterThan(RUNS / 10);
  });

  test('PodTopologySpread scores by position whosever the constraints are', () => {
    const random = new RandomCluster([{ labels: {}, taints: [] }]);
    random.refresh();
    const plugin = podTopologySpread.create(
      { value: undefined, path: 'args' },
      makeHandle({ snapshot: random.snapshot, informers: withServices }),
    ) as FullPlugin;
    const constraint = {
      maxSkew: 1,
      topologyKey: 'rack',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: {},
    } as const;
    const [red] = NAMESPACES;
    const byPosition = (spec: Partial<PodSpec>): boolean | undefined => {
      const pod = new PodInfo(
        random.make({ namespace: red, labels: { app: 'a' }, spec, deleting: false }),
      );
      const state = new CycleState();
      const { nodes } = random.snapshot;
      expect(plugin.preScore(state, pod, nodes, [0])).toBeUndefined();
      return plugin.scoreByPosition?.(state, pod, nodes, [0], [0]);
    };
    expect(byPosition({})).toBe(true);
    expect(byPosition({ topologySpreadConstraints: [constraint] })).toBe(true);
  });
});
