// Tests which events requeue an unschedulable pod, for random clusters: every event after which it
// fits (otherwise the pod would wait for minutes), and far from every event (each attempt costs a
// cycle). Compared with the reference rules, and with a scheduler that always requeues.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PodSpec, Toleration } from '#api/groups/core/v1/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import { readConfiguration } from './config/configuration.ts';
import { resolveProfile } from './profile.ts';
import { NO_NODES } from './schedule-one.ts';
import { CycleState } from './framework/cycle-state.ts';
import { nodeAdd } from './framework/events.ts';
import { Framework } from './framework/framework.ts';
import type { Pod } from './framework/objects.ts';
import { PodInfo } from './framework/pod-info.ts';
import { WaitingPods } from './framework/waiting-pods.ts';
import { inTreeRegistry } from './plugins/registry.ts';
import type { EventRegistrations } from './queue/hints.ts';
import { NONE, type QueuedPod } from './queue/queued-pod.ts';
import { SchedulingAlgorithm } from './scheduling-algorithm.ts';
import { makeHandle } from './testing/handle.ts';
import type { NodeOptions } from './testing/objects.ts';
import { NAMESPACES } from './testing/random-cluster.ts';
import {
  anyLabels,
  anyNode,
  type AnyPod,
  anyPod,
  competingPod,
  smallNode,
} from './testing/random-pods.ts';
import { COLORS, index, SERVICES, type Step, stepsOf, World } from './testing/random-world.ts';
import { type ReferenceArgs, refusal } from './testing/reference-scheduler.ts';
import { staticInformers, type StaticInformers } from './testing/static-informers.ts';

/** More runs for a thorough test: REFERENCE_RUNS=5000. */
const RUNS = Number(process.env['REFERENCE_RUNS'] ?? 80);

const ARGS: ReferenceArgs = {
  ignoredResources: [],
  strategy: { type: 'LeastAllocated', resources: [{ name: 'cpu', weight: 1 }] },
  balanced: ['cpu', 'memory'],
  hardPodAffinityWeight: 1,
  ignorePreferredTermsOfExistingPods: false,
};

/** Changes of the waiting pod itself. */
type OwnStep =
  | { readonly kind: 'ownLabels'; readonly labels: Readonly<Record<string, string>> }
  | { readonly kind: 'ownTolerations'; readonly tolerations: NonNullable<PodSpec['tolerations']> }
  | { readonly kind: 'ownRequests'; readonly cpu: string };

const EVERYTHING: Toleration = { operator: 'Exists' };

const ownStep: fc.Arbitrary<OwnStep> = fc.oneof(
  fc.record({ kind: fc.constant('ownLabels' as const), labels: anyLabels }),
  fc.record({
    kind: fc.constant('ownTolerations' as const),
    tolerations: fc.constant<Toleration[]>([EVERYTHING]),
  }),
  fc.record({ kind: fc.constant('ownRequests' as const), cpu: fc.constantFrom('0', '1', '2') }),
);

function changed(pod: Pod, step: OwnStep): Pod {
  switch (step.kind) {
    case 'ownLabels':
      return { ...pod, metadata: { ...pod.metadata, labels: step.labels } };
    case 'ownTolerations':
      return { ...pod, spec: { ...pod.spec, tolerations: step.tolerations } };
    case 'ownRequests': {
      const containers = pod.spec.containers.map((container) => ({
        ...container,
        resources: { requests: { cpu: step.cpu } },
      }));
      return { ...pod, spec: { ...pod.spec, containers } };
    }
  }
}

interface Scenario {
  readonly nodes: readonly NodeOptions[];
  /** `nominated`: the pod is nominated to the node, not bound to it. */
  readonly start: readonly {
    readonly pod: AnyPod;
    readonly node: number;
    readonly nominated: boolean;
  }[];
  readonly pod: AnyPod;
  /** `during`: the change happens during an attempt, not while the pod waits. */
  readonly steps: readonly { readonly step: Step | OwnStep; readonly during: boolean }[];
}

interface Tally {
  events: number;
  woken: number;
  /** The number of events after which the pod fitted somewhere. */
  helped: number;
}

describe('a pod that fits nowhere', () => {
  let known: StaticInformers;
  beforeAll(async () => {
    known = staticInformers({
      '/api/v1/namespaces': NAMESPACES.map((name) => ({
        metadata: { name, labels: COLORS[name] },
      })),
      '/api/v1/services': SERVICES.map(({ namespace, selector }, i) => ({
        metadata: { namespace, name: `s${i}` },
        spec: { selector },
      })),
    });
    newScheduler();
    await known.start();
  });
  afterAll(() => known.stop());

  function newScheduler() {
    const registrations = new Map<
      string,
      ReadonlyMap<string, readonly { readonly event: typeof nodeAdd }[]>
    >();
    // The pod under test is popped first.
    const less = (a: { info: PodInfo }): boolean =>
      a.info.pod.metadata.labels?.['waits'] === 'true';
    const world = new World({ registrations: registrations satisfies EventRegistrations, less });
    const [profile] = readConfiguration(undefined).profiles;
    if (profile === undefined) throw new Error('there is a profile');
    const handle = makeHandle({
      snapshot: world.snapshot,
      informers: known.informers,
      nominator: world.queue,
    });
    const framework = new Framework({
      profileName: profile.schedulerName,
      plugins: resolveProfile(profile, inTreeRegistry, handle),
      clock: handle.clock,
      nominator: world.queue,
      waitingPods: new WaitingPods(),
    });
    registrations.set(
      profile.schedulerName,
      new Map([...framework.eventRegistrations(), [NO_NODES, [{ event: nodeAdd }]]]),
    );
    const algorithm = new SchedulingAlgorithm({
      snapshot: world.snapshot,
      random: new SeededRandom(1),
    });
    return { world, framework, algorithm };
  }

  function play({ nodes, start, pod: template, steps }: Scenario, tally: Tally): void {
    const { world, framework, algorithm } = newScheduler();
    nodes.forEach((as, node) => world.apply({ kind: 'putNode', node, as }));
    for (const { pod, node, nominated } of start)
      world.apply({ kind: nominated ? 'nominate' : 'addPod', pod, node });
    let pod = world.make({
      ...template,
      labels: { ...template.labels, waits: 'true' },
      deleting: false,
    });
    const { uid } = pod.metadata;
    world.queue.add(new PodInfo(pod));

    const take = (): QueuedPod => {
      world.queue.activate([pod]);
      const queued = world.queue.tryPop();
      if (queued?.info.uid !== uid) throw new Error('another pod came first');
      return queued;
    };
    /** Reports whether the pod fits nowhere, and records the reason. */
    const refused = (queued: QueuedPod): boolean => {
      world.refresh();
      const result = algorithm.schedule(framework, new CycleState(), queued.info);
      if (result.kind === 'error') throw new Error(result.status.message);
      if (result.kind === 'node') return false;
      queued.unschedulablePlugins =
        result.kind === 'noNodes' ? new Set([NO_NODES]) : result.diagnosis.unschedulablePlugins;
      queued.pendingPlugins = NONE;
      return true;
    };
    const fits = (): boolean => {
      world.refresh();
      const { truth } = world;
      return truth.nodes.some(
        (node) =>
          refusal(pod, node, truth, world.nominatedOn(node.metadata.name), ARGS) === undefined,
      );
    };
    const happen = (step: Step | OwnStep): void => {
      if (
        step.kind !== 'ownLabels' &&
        step.kind !== 'ownTolerations' &&
        step.kind !== 'ownRequests'
      ) {
        world.apply(step);
        return;
      }
      const before = pod;
      pod = changed(before, step);
      if (step.kind === 'ownLabels')
        pod = { ...pod, metadata: { ...pod.metadata, labels: { ...step.labels, waits: 'true' } } };
      world.change(before, pod);
    };

    let queued = take();
    if (!refused(queued)) return;
    let inFlight = true;
    for (const { step, during } of steps) {
      if (during && !inFlight) {
        // Attempted once more without success, since nothing has changed.
        queued = take();
        expect(refused(queued)).toBe(true);
        inFlight = true;
      }
      if (!during && inFlight) {
        world.queue.addUnschedulable(queued, new PodInfo(pod));
        inFlight = false;
      }
      happen(step);
      if (inFlight) {
        world.queue.addUnschedulable(queued, new PodInfo(pod));
        inFlight = false;
      }
      const [fitsNow, place] = [fits(), world.queue.get(uid)?.place];
      tally.events++;
      if (fitsNow) {
        tally.helped++;
        expect(place, JSON.stringify(step)).not.toBe('unschedulable');
      }
      if (place === 'unschedulable') continue;
      tally.woken++;
      queued = take();
      expect(refused(queued)).toBe(!fitsNow);
      if (fitsNow) return;
      inFlight = true;
    }
  }

  function scenarios(
    pod: fc.Arbitrary<AnyPod>,
    node: fc.Arbitrary<NodeOptions>,
    placed: number,
  ): fc.Arbitrary<Scenario> {
    const step = fc.oneof(
      { weight: 8, arbitrary: stepsOf(pod, node) },
      { weight: 1, arbitrary: ownStep },
    );
    return fc.record({
      nodes: fc.array(node, { maxLength: 4 }),
      start: fc.array(
        fc.record({ pod, node: index, nominated: fc.constantFrom(true, false, false) }),
        {
          maxLength: placed,
        },
      ),
      pod,
      steps: fc.array(fc.record({ step, during: fc.boolean() }), { minLength: 4, maxLength: 12 }),
    });
  }

  test.each([
    ['of any kind', anyPod, anyNode, 10],
    ['among many', competingPod, smallNode, 16],
  ] as const)(
    'is woken by all that helps it, and left alone by most else (%s)',
    (_, pod, node, placed) => {
      const tally: Tally = { events: 0, woken: 0, helped: 0 };
      fc.assert(
        fc.property(scenarios(pod, node, placed), (scenario) => play(scenario, tally)),
        { numRuns: RUNS },
      );
      expect(tally.helped).toBeGreaterThan(0);
      // Always requeuing would cause many more needless attempts.
      const always = tally.events - tally.helped;
      expect(tally.woken - tally.helped).toBeLessThan(always / 2);
    },
  );
});
