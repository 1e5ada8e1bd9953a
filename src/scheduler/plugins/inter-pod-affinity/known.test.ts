// Results about nodes that InterPodAffinity remembers between pods equal newly computed ones, after
// any changes: pods are added and removed, nodes join and leave domains.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Affinity } from '#api/groups/core/v1/index.ts';
import { Snapshot } from '#scheduler/cache/snapshot.ts';
import { CycleState } from '#scheduler/framework/cycle-state.ts';
import type { Answer, FilterPlugin, Plugin, PreFilterPlugin } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { makeHandle } from '#scheduler/testing/handle.ts';
import { makeNodeInfo, makePodInfo } from '#scheduler/testing/objects.ts';
import { interPodAffinity } from './inter-pod-affinity.ts';

const NODES = ['n0', 'n1', 'n2', 'n3'];
/** A topology that every node has; usually with a value of its own. */
const RACK = 'rack';
const HOST = 'kubernetes.io/hostname';

const apart = (app: string, ...topologies: readonly string[]): Affinity => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: topologies.map((topologyKey) => ({
      topologyKey,
      labelSelector: { matchLabels: { app } },
    })),
  },
});
const near = (app: string): Affinity => ({
  podAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: RACK, labelSelector: { matchLabels: { app } } },
    ],
  },
});
const KINDS: readonly (readonly [app: string, affinity?: Affinity])[] = [
  ['a'],
  ['b'],
  ['a', apart('a', RACK)],
  ['a', apart('a', HOST)],
  ['b', apart('a', HOST, RACK)],
  ['b', near('a')],
];
const podOf = (kind: number, name: string): PodInfo => {
  const [app, affinity] = KINDS[kind]!;
  return makePodInfo(name, { labels: { app }, spec: affinity === undefined ? {} : { affinity } });
};

const at = fc.nat({ max: NODES.length - 1 });
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('pods' as const),
      at,
      kinds: fc.array(fc.nat({ max: KINDS.length - 1 }), { maxLength: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('rack' as const),
      at,
      rack: fc.constantFrom('own', 'r', undefined),
    }),
  },
);

describe('InterPodAffinity', () => {
  test('returns the same for the third pod of a template as for the first', () => {
    let kept = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 14 }), (steps) => {
        const snapshot = new Snapshot();
        snapshot.nodes = NODES.map((name) =>
          makeNodeInfo(name, { labels: { [RACK]: `own-${name}` } }),
        );
        NODES.forEach((name, position) => snapshot.positions.set(name, position));
        snapshot.versions = new Float64Array(NODES.length);
        snapshot.changes.restructure();
        const make = () =>
          interPodAffinity.create(
            { value: undefined, path: 'args' },
            makeHandle({ snapshot }),
          ) as Plugin & PreFilterPlugin & FilterPlugin;
        const answers = (
          plugin: PreFilterPlugin & FilterPlugin,
          pod: PodInfo,
        ): readonly Answer[] | Answer => {
          const state = new CycleState();
          const refused = plugin.preFilter(state, pod, snapshot.nodes) as Answer;
          return (
            refused ??
            snapshot.nodes.map((node, position) => plugin.filter(state, pod, node, position))
          );
        };
        const plugin = make();
        const asked = KINDS.map((_, kind) => podOf(kind, `asked-${kind}`));
        for (const pod of [...asked, ...asked]) answers(plugin, pod);
        let made = 0;
        for (const change of steps) {
          const before = snapshot.nodes[change.at]!;
          if (change.what === 'pods') {
            const after = before.clone();
            for (const { uid } of before.pods) after.removePod(uid);
            for (const kind of change.kinds) after.addPod(podOf(kind, `there-${made++}`));
            snapshot.nodes[change.at] = after;
          } else {
            const rack = change.rack === 'own' ? `own-${before.name}` : change.rack;
            const labels: Readonly<Record<string, string>> =
              rack === undefined ? {} : { [RACK]: rack };
            snapshot.nodes[change.at] = makeNodeInfo(before.name, { labels }, [...before.pods]);
          }
          snapshot.renew(change.at);
          snapshot.changes.add(change.at, NODES.length);
          for (const pod of asked) {
            const now = answers(plugin, pod);
            expect(now).toEqual(answers(make(), pod));
            if (Array.isArray(now) && now.some((answer) => answer !== undefined)) kept++;
          }
        }
      }),
      { numRuns: 120 },
    );
    // Enough results were remembered.
    expect(kept).toBeGreaterThan(120);
  });
});
