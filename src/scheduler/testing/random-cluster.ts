// Random clusters for property tests, with few different labels, namespaces and topologies, so that
// most of them match.

import fc from 'fast-check';
import type { LabelSelector } from '#api/machinery/meta/v1/index.ts';
import type {
  PodAffinityTerm,
  PodSpec,
  Taint,
  TopologySpreadConstraint,
  WeightedPodAffinityTerm,
} from '#api/groups/core/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SchedulerCache } from '../cache/cache.ts';
import { Snapshot } from '../cache/snapshot.ts';
import type { Pod } from '../framework/objects.ts';
import { PodInfo } from '../framework/pod-info.ts';
import { RecordingLogger } from './handle.ts';
import { makeNode, makePod } from './objects.ts';

/** The namespaces of random pods. */
export const NAMESPACES = ['red', 'green', 'blue'] as const;

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

export interface RandomNode {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface RandomPod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Partial<PodSpec>;
  readonly deleting: boolean;
}

/** A change of the cluster: `pod` and `node` are taken modulo the present number. */
export type Step =
  | { readonly kind: 'addPod'; readonly pod: RandomPod; readonly node: number }
  | { readonly kind: 'removePod'; readonly pod: number }
  | {
      readonly kind: 'changePod';
      readonly pod: number;
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'putNode'; readonly node: number; readonly as: RandomNode }
  | { readonly kind: 'removeNode'; readonly node: number };

const labels = fc.record(
  { app: fc.constantFrom('a', 'b'), tier: fc.constantFrom('x', 'y') },
  { requiredKeys: [] },
);
const topologyKey = fc.constantFrom(ZONE, HOST, 'rack');

const expression = fc.oneof(
  fc.record({
    key: fc.constantFrom('app', 'tier'),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.uniqueArray(fc.constantFrom('a', 'b', 'x'), { minLength: 1 }),
  }),
  fc.record({
    key: fc.constantFrom('app', 'tier'),
    operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
  }),
);
const selector: fc.Arbitrary<LabelSelector> = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 1 }) },
  { requiredKeys: [] },
);
const namespaceSelector: fc.Arbitrary<LabelSelector> = fc.oneof(
  fc.constant({}),
  fc.record({ matchLabels: fc.record({ color: fc.constantFrom('warm', 'cold') }) }),
);

const term: fc.Arbitrary<PodAffinityTerm> = fc
  .record(
    {
      topologyKey,
      labelSelector: selector,
      namespaces: fc.uniqueArray(fc.constantFrom<string>(...NAMESPACES), { maxLength: 2 }),
      namespaceSelector,
      matchLabelKeys: fc.constantFrom(['app'], ['tier']),
      mismatchLabelKeys: fc.constantFrom(['tier']),
    },
    { requiredKeys: ['topologyKey', 'labelSelector'] },
  )
  .map((made) => made as PodAffinityTerm)
  // The API rejects selectors with the same label in both lists.
  .filter(({ labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }) =>
    (labelSelector?.matchExpressions ?? []).every(
      ({ key }) => ![...matchLabelKeys, ...mismatchLabelKeys].includes(key),
    ),
  );
const weighted: fc.Arbitrary<WeightedPodAffinityTerm> = fc.record({
  weight: fc.integer({ min: 1, max: 100 }),
  podAffinityTerm: term,
});

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { maxLength: 2 });

export const affinitySpec: fc.Arbitrary<Partial<PodSpec>> = fc
  .record(
    {
      podAffinity: fc.record(
        { [required]: some(term), [preferred]: some(weighted) },
        { requiredKeys: [] },
      ),
      podAntiAffinity: fc.record(
        { [required]: some(term), [preferred]: some(weighted) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  )
  .map((affinity) => ({ affinity }));

const constraint: fc.Arbitrary<TopologySpreadConstraint> = fc
  .record(
    {
      maxSkew: fc.integer({ min: 1, max: 3 }),
      topologyKey,
      whenUnsatisfiable: fc.constantFrom('DoNotSchedule' as const, 'ScheduleAnyway' as const),
      labelSelector: selector,
      minDomains: fc.integer({ min: 1, max: 4 }),
      nodeAffinityPolicy: fc.constantFrom('Honor' as const, 'Ignore' as const),
      nodeTaintsPolicy: fc.constantFrom('Honor' as const, 'Ignore' as const),
      matchLabelKeys: fc.constantFrom(['app'], ['tier']),
    },
    { requiredKeys: ['maxSkew', 'topologyKey', 'whenUnsatisfiable', 'labelSelector'] },
  )
  .map((made) => made as TopologySpreadConstraint);

export const spreadSpec: fc.Arbitrary<Partial<PodSpec>> = fc.record(
  {
    topologySpreadConstraints: fc.array(constraint, { minLength: 1, maxLength: 3 }),
    nodeSelector: fc.constantFrom<Record<string, string>>({ rack: 'r1' }, { [ZONE]: 'z1' }),
    tolerations: fc.constant([{ key: 'k', operator: 'Exists' as const }]),
  },
  { requiredKeys: ['topologySpreadConstraints'] },
);

/** Generates variations of a pod: with the same constraints and other suitable nodes. */
export const twist: fc.Arbitrary<Partial<PodSpec>> = fc.record(
  {
    nodeSelector: fc.constantFrom<Record<string, string>>(
      {},
      { rack: 'r1' },
      { rack: 'r2' },
      { [ZONE]: 'z1' },
    ),
    tolerations: fc.constantFrom([], [{ key: 'k', operator: 'Exists' as const }]),
  },
  { requiredKeys: [] },
);

export const randomNode: fc.Arbitrary<RandomNode> = fc.record({
  labels: fc
    .record(
      { [ZONE]: fc.constantFrom('z1', 'z2', 'z3'), rack: fc.constantFrom('r1', 'r2') },
      { requiredKeys: [] },
    )
    .map((made) => made as Record<string, string>),
  taints: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constant([{ key: 'k', effect: 'NoSchedule' as const }]) },
  ),
});

export function randomPod(spec: fc.Arbitrary<Partial<PodSpec>>): fc.Arbitrary<RandomPod> {
  return fc.record({
    // Usually the same namespace, so that there are enough pods to count.
    namespace: fc.constantFrom<string>('red', 'red', 'red', ...NAMESPACES),
    labels: labels.map((made) => made as Record<string, string>),
    spec: fc.oneof(fc.constant({}), spec),
    deleting: fc.oneof(
      { weight: 7, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  });
}

export function randomSteps(spec: fc.Arbitrary<Partial<PodSpec>>): fc.Arbitrary<Step[]> {
  const index = fc.nat({ max: 20 });
  return fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('addPod' as const),
          pod: randomPod(spec),
          node: index,
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('removePod' as const), pod: index }) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant('changePod' as const),
          pod: index,
          labels: labels.map((made) => made as Record<string, string>),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('putNode' as const),
          node: index,
          as: randomNode,
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('removeNode' as const), node: index }),
      },
    ),
    { minLength: 1, maxLength: 14 },
  );
}

const NODE_NAMES = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'] as const;

/** A cache and its snapshot, to which steps are applied. */
export class RandomCluster {
  readonly snapshot = new Snapshot();
  readonly #cache = new SchedulerCache({
    clock: new VirtualClock(),
    logger: new RecordingLogger(),
  });
  /** The pods on nodes, in no particular order. */
  #pods: Pod[] = [];
  #made = 0;

  constructor(nodes: readonly RandomNode[]) {
    nodes.forEach((node, i) => this.#putNode(i, node));
    this.refresh();
  }

  apply(step: Step): void {
    switch (step.kind) {
      case 'addPod': {
        const nodeName = NODE_NAMES[step.node % NODE_NAMES.length]!;
        const made = this.make(step.pod, { nodeName });
        this.#pods.push(made);
        this.#cache.putPod(new PodInfo(made));
        break;
      }
      case 'removePod': {
        const [gone] = this.#pods.splice(step.pod % Math.max(1, this.#pods.length), 1);
        if (gone !== undefined) this.#cache.removePod(gone.metadata.uid);
        break;
      }
      case 'changePod': {
        const at = step.pod % Math.max(1, this.#pods.length);
        const before = this.#pods[at];
        if (before === undefined) break;
        const after: Pod = { ...before, metadata: { ...before.metadata, labels: step.labels } };
        this.#pods[at] = after;
        this.#cache.putPod(new PodInfo(after));
        break;
      }
      case 'putNode':
        this.#putNode(step.node, step.as);
        break;
      case 'removeNode':
        this.#cache.removeNode(NODE_NAMES[step.node % NODE_NAMES.length]!);
        break;
    }
  }

  refresh(): void {
    this.#cache.updateSnapshot(this.snapshot);
  }

  make(
    { namespace, labels: podLabels, spec, deleting }: RandomPod,
    more: Partial<PodSpec> = {},
  ): Pod {
    return makePod(`p${this.#made++}`, {
      namespace,
      labels: podLabels,
      deleting,
      spec: { ...spec, ...more },
    });
  }

  #putNode(index: number, { labels: nodeLabels, taints }: RandomNode): void {
    this.#cache.putNode(
      makeNode(NODE_NAMES[index % NODE_NAMES.length]!, { labels: nodeLabels, taints }),
    );
  }
}
