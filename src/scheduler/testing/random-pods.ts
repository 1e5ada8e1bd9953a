// Random pods and nodes that use all inputs of the default profile, with few different values, so
// that most of them match: taints, affinities, ports, resources, images, spreading.

import fc from 'fast-check';
import type {
  Container,
  NodeAffinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  PreferredSchedulingTerm,
  Taint,
  Toleration,
} from '#api/groups/core/v1/index.ts';
import type { NodeOptions } from './objects.ts';
import { affinitySpec, NAMESPACES, spreadSpec } from './random-cluster.ts';

const ZONE = 'topology.kubernetes.io/zone';
const MIB = 1024 * 1024;
export const GPU = 'example.com/gpu';

const sometimes = <T>(arbitrary: fc.Arbitrary<T>, otherwise: T, oneIn = 3): fc.Arbitrary<T> =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary });

const taint: fc.Arbitrary<Taint> = fc
  .record(
    {
      key: fc.constantFrom('k', 'l'),
      value: fc.constantFrom('v', 'w'),
      effect: fc.constantFrom(
        'NoSchedule' as const,
        'PreferNoSchedule' as const,
        'NoExecute' as const,
      ),
    },
    { requiredKeys: ['key', 'effect'] },
  )
  .map((made) => made as Taint);

const toleration: fc.Arbitrary<Toleration> = fc
  .oneof(
    fc.record({
      operator: fc.constant('Exists'),
      key: fc.constantFrom('k', 'l', 'node.kubernetes.io/unschedulable'),
    }),
    fc.record({ operator: fc.constant('Exists') }),
    fc.record({
      key: fc.constantFrom('k', 'l'),
      operator: fc.constant('Equal'),
      value: fc.constantFrom('v', 'w'),
    }),
    fc.record({ key: fc.constantFrom('k', 'l') }),
  )
  .chain((made) =>
    fc
      .record(
        { effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute') },
        { requiredKeys: [] },
      )
      .map((effect) => ({
        ...made,
        ...effect,
      })),
  )
  .map((made) => made as Toleration);

const requirement: fc.Arbitrary<NodeSelectorRequirement> = fc
  .oneof(
    fc.record({
      key: fc.constantFrom('rack', ZONE, 'size'),
      operator: fc.constantFrom('In' as const, 'NotIn' as const),
      values: fc.uniqueArray(fc.constantFrom('r1', 'z1', 'z2', '10', '20'), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    fc.record({
      key: fc.constantFrom('rack', ZONE, 'size'),
      operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
    }),
    fc.record({
      key: fc.constantFrom('size', 'rack'),
      operator: fc.constantFrom('Gt' as const, 'Lt' as const),
      values: fc.constantFrom(['10'], ['15'], ['-1']),
    }),
  )
  .map((made) => made as NodeSelectorRequirement);
const byName: fc.Arbitrary<NodeSelectorRequirement> = fc.record({
  key: fc.constant('metadata.name'),
  operator: fc.constantFrom('In' as const, 'In' as const, 'NotIn' as const),
  values: fc.uniqueArray(fc.constantFrom('n0', 'n1', 'n2'), { minLength: 1, maxLength: 1 }),
});
const nodeTerm: fc.Arbitrary<NodeSelectorTerm> = fc.record(
  {
    matchExpressions: fc.array(requirement, { maxLength: 2 }),
    matchFields: fc.array(byName, { maxLength: 1 }),
  },
  { requiredKeys: [] },
);
const preferredTerm: fc.Arbitrary<PreferredSchedulingTerm> = fc.record({
  weight: fc.integer({ min: 1, max: 100 }),
  preference: nodeTerm,
});

/** Preferred more often than required. */
export const nodeAffinity: fc.Arbitrary<NodeAffinity> = fc
  .record({
    required: sometimes<readonly NodeSelectorTerm[]>(
      fc.array(nodeTerm, { minLength: 1, maxLength: 2 }),
      [],
    ),
    preferred: fc.array(preferredTerm, { maxLength: 2 }),
  })
  .map(({ required, preferred }) => ({
    ...(required.length > 0 && {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...required] },
    }),
    ...(preferred.length > 0 && { preferredDuringSchedulingIgnoredDuringExecution: preferred }),
  }));

const requests: fc.Arbitrary<Record<string, string>> = fc
  .record({
    cpu: fc.constantFrom(undefined, '0', '100m', '250m', '1', '2'),
    memory: fc.constantFrom(undefined, '0', '128Mi', '1Gi', '2Gi'),
    'ephemeral-storage': fc.constantFrom(undefined, undefined, '1Gi', '5Gi'),
    [GPU]: sometimes<string | undefined>(fc.constantFrom('1', '2'), undefined, 6),
  })
  .map(
    (made) =>
      Object.fromEntries(
        Object.entries(made).filter(([, amount]) => amount !== undefined),
      ) as Record<string, string>,
  );

const container = (name: string): fc.Arbitrary<Container> =>
  fc
    .record(
      {
        image: fc.constantFrom('app', 'app:latest', 'registry:5000/app', 'big:1', 'side:2'),
        resources: fc.record({ requests }, { requiredKeys: [] }),
        ports: sometimes(
          fc.tuple(
            fc.record(
              {
                containerPort: fc.constant(80),
                hostPort: fc.constantFrom(80, 81),
                protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
                hostIP: fc.constantFrom('10.0.0.1', '10.0.0.2', '0.0.0.0'),
              },
              { requiredKeys: ['containerPort'] },
            ),
          ),
          undefined,
          4,
        ),
      },
      { requiredKeys: ['image', 'resources'] },
    )
    .map((made) => ({ name, ...made }));

const initContainer = fc
  .tuple(container('i'), fc.boolean())
  .map(([made, sidecar]): Container => ({ ...made, ...(sidecar && { restartPolicy: 'Always' }) }));

export interface AnyPod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Partial<PodSpec>;
  readonly deleting: boolean;
  /** The start time in seconds after the first pod; absent: it has not started. */
  readonly started?: number;
}

const labels = fc
  .record({ app: fc.constantFrom('a', 'b'), tier: fc.constantFrom('x', 'y') }, { requiredKeys: [] })
  .map((made) => made as Record<string, string>);

export const anyLabels = labels;

const spec: fc.Arbitrary<Partial<PodSpec>> = fc
  .record({
    containers: fc
      .array(fc.nat(1), { minLength: 1, maxLength: 2 })
      .chain((all) => fc.tuple(...all.map((_, i) => container(`c${i}`)))),
    inits: fc.array(initContainer, { maxLength: 1 }),
    spread: sometimes<Partial<PodSpec>>(spreadSpec, {}, 4),
    podAffinity: sometimes<Partial<PodSpec>>(affinitySpec, {}, 4),
    nodeAffinity: sometimes<NodeAffinity | undefined>(nodeAffinity, undefined, 2),
    nodeSelector: sometimes<Record<string, string> | undefined>(
      fc.constantFrom<Record<string, string>>({ rack: 'r1' }, { [ZONE]: 'z1' }),
      undefined,
      6,
    ),
    tolerations: sometimes<Toleration[]>(fc.array(toleration, { maxLength: 2 }), [], 2),
    overhead: sometimes<Record<string, string> | undefined>(
      fc.constant({ cpu: '50m', memory: '64Mi' }),
      undefined,
      6,
    ),
    priority: fc.constantFrom(0, 0, 5, 10),
  })
  .map(
    ({
      containers,
      inits,
      spread,
      podAffinity,
      nodeAffinity: byNode,
      nodeSelector,
      tolerations,
      overhead,
      priority,
    }) => ({
      ...spread,
      containers,
      priority,
      ...(inits.length > 0 && { initContainers: inits }),
      ...(tolerations.length > 0 && { tolerations }),
      ...(nodeSelector !== undefined && { nodeSelector }),
      ...(overhead !== undefined && { overhead }),
      ...((byNode !== undefined || podAffinity.affinity !== undefined) && {
        affinity: {
          ...podAffinity.affinity,
          ...(byNode !== undefined && { nodeAffinity: byNode }),
        },
      }),
    }),
  );

export const anyPod: fc.Arbitrary<AnyPod> = fc
  .record(
    {
      namespace: fc.constantFrom<string>('red', 'red', 'red', ...NAMESPACES),
      labels,
      spec,
      deleting: sometimes(fc.constant(true), false, 8),
      started: fc.nat({ max: 5 }),
    },
    { requiredKeys: ['namespace', 'labels', 'spec', 'deleting'] },
  )
  .map((made) => made as AnyPod);

export const anyNode: fc.Arbitrary<NodeOptions> = fc.record({
  labels: fc
    .record(
      {
        [ZONE]: fc.constantFrom('z1', 'z2', 'z3'),
        rack: fc.constantFrom('r1', 'r2'),
        size: fc.constantFrom('10', '20'),
      },
      { requiredKeys: [] },
    )
    .map((made) => made as Record<string, string>),
  taints: sometimes<Taint[]>(fc.array(taint, { maxLength: 2 }), []),
  unschedulable: sometimes(fc.constant(true), false, 10),
  allocatable: fc
    .record(
      {
        cpu: fc.constantFrom('1', '2', '4', '8'),
        memory: fc.constantFrom('2Gi', '8Gi', '8Gi'),
        pods: fc.constantFrom('2', '10', '10'),
        'ephemeral-storage': fc.constantFrom('4Gi', '20Gi', '20Gi'),
        [GPU]: fc.constantFrom('1', '4', '4'),
      },
      { requiredKeys: ['cpu', 'memory', 'pods', 'ephemeral-storage'] },
    )
    .map((made) => made as Record<string, string>),
  images: fc.uniqueArray(
    fc.constantFrom(
      { names: ['app:latest', 'registry:5000/app:latest'], sizeBytes: 300 * MIB },
      { names: ['big:1'], sizeBytes: 1900 * MIB },
      { names: ['side:2'], sizeBytes: 30 * MIB },
    ),
    { maxLength: 3 },
  ),
});

/** Generates pods that compete for resources, most of them started, for preemption. */
export const competingPod: fc.Arbitrary<AnyPod> = fc
  .record({
    namespace: fc.constantFrom('red', 'green'),
    labels,
    deleting: sometimes(fc.constant(true), false, 10),
    // Few have not started: the importance of two such pods is undefined.
    started: fc.constantFrom(0, 0, 0, undefined),
    spec: fc.record({
      containers: fc
        .record({
          cpu: fc.constantFrom('500m', '1', '2'),
          hostPort: sometimes<number | undefined>(fc.constantFrom(80, 81), undefined, 4),
        })
        .map(({ cpu, hostPort }): Container[] => [
          {
            name: 'c',
            image: 'app',
            resources: { requests: { cpu } },
            ...(hostPort !== undefined && {
              ports: [{ containerPort: 80, hostPort, protocol: 'TCP' }],
            }),
          },
        ]),
      priority: fc.constantFrom(-5, 0, 0, 0, 5, 20),
    }),
  })
  .map(({ started, ...made }) => ({ ...made, ...(started !== undefined && { started }) }));

export const smallNode: fc.Arbitrary<NodeOptions> = fc
  .record({
    cpu: fc.constantFrom('2', '3', '4'),
    memory: fc.constant('8Gi'),
    pods: fc.constantFrom('2', '4', '10'),
  })
  .map((allocatable) => ({ allocatable }));
