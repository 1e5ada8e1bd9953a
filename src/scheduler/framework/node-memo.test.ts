import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PodSpec } from '#api/groups/core/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { SchedulerCache } from '../cache/cache.ts';
import { Snapshot } from '../cache/snapshot.ts';
import { readConfiguration } from '../config/configuration.ts';
import { resolveProfile } from '../profile.ts';
import { inTreeRegistry } from '../plugins/registry.ts';
import { SchedulingAlgorithm } from '../scheduling-algorithm.ts';
import { makeHandle, RecordingLogger } from '../testing/handle.ts';
import { makeNode, makePod, type NodeOptions, type PodOptions } from '../testing/objects.ts';
import { CycleState } from './cycle-state.ts';
import { fitErrorMessage } from './fit-error.ts';
import { Framework } from './framework.ts';
import { NodeMemo } from './node-memo.ts';
import { PodInfo } from './pod-info.ts';
import { WaitingPods } from './waiting-pods.ts';

const NODES = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'];
const GPU = 'example.com/gpu';

const nodeOptions: fc.Arbitrary<NodeOptions> = fc.record({
  labels: fc.constantFrom<Record<string, string>>({}, { rack: 'r1' }, { rack: 'r2' }),
  allocatable: fc.constantFrom<Record<string, string>>(
    { cpu: '4', memory: '8Gi', pods: '3' },
    { cpu: '2', memory: '16Gi', pods: '10', [GPU]: '2' },
  ),
  taints: fc.constantFrom(
    [],
    [],
    [{ key: 'k', effect: 'NoSchedule' as const }],
    [{ key: 'k', effect: 'PreferNoSchedule' as const }],
  ),
  unschedulable: fc.constantFrom(false, false, false, true),
});

const template: fc.Arbitrary<PodOptions> = fc.record({
  requests: fc.constantFrom<Record<string, string>>(
    {},
    { cpu: '500m' },
    { cpu: '1', memory: '1Gi' },
    { cpu: '1', [GPU]: '1' },
  ),
  labels: fc.constantFrom({ app: 'a' }, { app: 'b' }),
  spec: fc.record(
    {
      nodeSelector: fc.constantFrom<Record<string, string>>({ rack: 'r1' }, { rack: 'r2' }),
      tolerations: fc.constant<PodSpec['tolerations']>([{ key: 'k', operator: 'Exists' }]),
      containers: fc.constant<PodSpec['containers']>([
        {
          name: 'c',
          image: 'image:1',
          resources: {},
          ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }],
        },
      ]),
      affinity: fc.constant<PodSpec['affinity']>({
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } },
          ],
        },
      }),
    },
    { requiredKeys: [] },
  ),
});

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('schedule' as const), template: fc.nat({ max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), pod: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      node: fc.nat({ max: 5 }),
      options: nodeOptions,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('drop' as const), node: fc.nat({ max: 5 }) }),
  },
);

test('a scheduler with remembered results decides like one without', () => {
  const [profile] = readConfiguration(undefined).profiles;
  let remembered = 0;
  const run = (
    templates: readonly PodOptions[],
    steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  ) => {
    const clock = new VirtualClock();
    const cache = new SchedulerCache({ clock, logger: new RecordingLogger() });
    NODES.forEach((name) => cache.putNode(makeNode(name)));
    const snapshot = new Snapshot();
    const nominator = {
      nominatedPodsForNode: () => [],
      isEmpty: () => true,
      nominatedNode: () => undefined,
    };
    const makeFramework = (): Framework =>
      new Framework({
        profileName: 'default-scheduler',
        plugins: resolveProfile(
          profile!,
          inTreeRegistry,
          makeHandle({ snapshot, random: new SeededRandom(1), nominator }),
        ),
        clock,
        nominator,
        waitingPods: new WaitingPods(),
      });
    const kept = makeFramework();
    const [one, other] = [1, 2].map(
      () => new SchedulingAlgorithm({ snapshot, random: new SeededRandom(7) }),
    );
    const placed: string[] = [];
    for (const [i, what] of steps.entries()) {
      if (what.kind === 'put') cache.putNode(makeNode(NODES[what.node]!, what.options));
      else if (what.kind === 'drop') cache.removeNode(NODES[what.node]!);
      else if (what.kind === 'remove') {
        const [uid] = placed.splice(what.pod % Math.max(1, placed.length), 1);
        if (uid !== undefined) cache.removePod(uid);
      } else {
        const pod = makePod(`p${i}`, templates[what.template % templates.length]);
        const info = new PodInfo(pod);
        cache.updateSnapshot(snapshot);
        const mine = one!.schedule(kept, new CycleState(), info);
        const fresh = other!.schedule(makeFramework(), new CycleState(), info);
        expect(mine.kind).toBe(fresh.kind);
        if (mine.kind === 'node') {
          expect(mine).toEqual(fresh);
          cache.putPod(new PodInfo({ ...pod, spec: { ...pod.spec, nodeName: mine.node } }));
          placed.push(info.uid);
          remembered++;
        } else if (mine.kind === 'unfit' && fresh.kind === 'unfit') {
          expect(fitErrorMessage(mine.diagnosis)).toBe(fitErrorMessage(fresh.diagnosis));
          expect(mine.diagnosis.unschedulablePlugins).toEqual(fresh.diagnosis.unschedulablePlugins);
        }
      }
    }
  };
  fc.assert(
    fc.property(
      fc.array(template, { minLength: 1, maxLength: 4 }),
      fc.array(step, { minLength: 10, maxLength: 40 }),
      run,
    ),
    { numRuns: 150 },
  );
  expect(remembered).toBeGreaterThan(100);
});

test('remembers a template from its second pod on, and a node as long as it does not change', () => {
  const memo = new NodeMemo<number>(0);
  const layout = { structure: 1, size: 2, versions: Float64Array.of(3, 5) };
  expect(memo.of('t', layout)).toBeUndefined();
  const answers = memo.of('t', layout)!;
  expect(answers.has(1)).toBe(false);
  answers.set(1, 42);
  expect(memo.of('t', layout)!.get(1)).toBe(42);
  expect([answers.has(0), answers.has(1)]).toEqual([false, true]);
  layout.versions[1] = 6;
  expect(answers.has(1)).toBe(false);
  // Positions refer to other nodes now.
  expect(memo.of('t', { structure: 2, size: 3, versions: new Float64Array(3) })).toBeUndefined();
});

test('drops results that were not used for long', () => {
  const memo = new NodeMemo<number>(0);
  const layout = { structure: 1, size: 1, versions: Float64Array.of(1) };
  const meet = (name: string) => memo.of(name, layout);
  meet('first');
  const first = meet('first');
  for (let i = 0; i < 40; i++) {
    meet(`t${i}`);
    meet(`t${i}`);
    if (i === 20) expect(meet('first')).toBe(first);
  }
  // 32 templates are kept: `first` was used after t20, t0 was not used since.
  expect(meet('first')).toBe(first);
  expect(meet('t0')).toBeUndefined();
});
