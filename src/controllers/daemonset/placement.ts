// Decides on which nodes a DaemonSet's pods belong, and builds their pod templates. The scheduler
// binds each pod to the one node that its node affinity names.

import type { DaemonSet } from '#api/groups/apps/v1/index.ts';
import type {
  Affinity,
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Toleration,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Operator, Requirement } from '#machinery/selectors/labels.ts';
import { REVISION_HASH } from '../history/index.ts';
import {
  type ReadToleration,
  TAINT_DISK_PRESSURE,
  TAINT_MEMORY_PRESSURE,
  TAINT_NETWORK_UNAVAILABLE,
  TAINT_NOT_READY,
  TAINT_PID_PRESSURE,
  TAINT_UNREACHABLE,
  TAINT_UNSCHEDULABLE,
  toleratesTaint,
} from '../taints.ts';

type ReadNode = Immutable<Node>;
type ReadSpec = Immutable<PodSpec>;

const NODE_NAME = 'metadata.name';
const TEMPLATE_GENERATION = 'pod-template-generation';
const TEMPLATE_GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation';

/**
 * Taints that every daemon pod tolerates: daemon pods start and keep running on nodes with
 * problems.
 */
const TOLERATED: readonly (readonly [key: string, effect: NonNullable<Toleration['effect']>])[] = [
  [TAINT_NOT_READY, 'NoExecute'],
  [TAINT_UNREACHABLE, 'NoExecute'],
  [TAINT_DISK_PRESSURE, 'NoSchedule'],
  [TAINT_MEMORY_PRESSURE, 'NoSchedule'],
  [TAINT_PID_PRESSURE, 'NoSchedule'],
  [TAINT_UNSCHEDULABLE, 'NoSchedule'],
];

/** Returns the template's tolerations and the tolerations of every daemon pod. */
function tolerationsOf({ tolerations, hostNetwork }: ReadSpec): readonly ReadToleration[] {
  const all = [...(tolerations ?? [])];
  const always =
    hostNetwork === true
      ? [...TOLERATED, [TAINT_NETWORK_UNAVAILABLE, 'NoSchedule'] as const]
      : TOLERATED;
  for (const [key, effect] of always) {
    const wanted = { key, operator: 'Exists', effect } as const;
    const present = all.findIndex(
      (each) =>
        each.key === key && each.effect === effect && each.operator === 'Exists' && !each.value,
    );
    if (present === -1) all.push(wanted);
    else all[present] = wanted;
  }
  return all;
}

export interface Placement {
  /** A pod of the DaemonSet should run on the node. */
  readonly shouldRun: boolean;
  /** A running pod may stay on the node. */
  readonly shouldContinueRunning: boolean;
}

const ELSEWHERE: Placement = { shouldRun: false, shouldContinueRunning: false };

export function placementOn(node: ReadNode, { spec }: Immutable<DaemonSet>): Placement {
  const template = spec.template.spec;
  if (template.nodeName !== undefined && template.nodeName !== node.metadata.name) return ELSEWHERE;
  if (!wantsNode(template, node)) return ELSEWHERE;
  const tolerations = tolerationsOf(template);
  const taints = (node.spec.taints ?? []).filter(
    (taint) => !tolerations.some((toleration) => toleratesTaint(toleration, taint)),
  );
  if (taints.every(({ effect }) => effect === 'PreferNoSchedule'))
    return { shouldRun: true, shouldContinueRunning: true };
  return {
    shouldRun: false,
    shouldContinueRunning: taints.every(({ effect }) => effect !== 'NoExecute'),
  };
}

/** Reports whether the template's nodeSelector and required node affinity match the node. */
function wantsNode({ nodeSelector, affinity }: ReadSpec, node: ReadNode): boolean {
  const present = node.metadata.labels ?? {};
  if (
    !Object.entries(nodeSelector ?? {}).every(
      ([key, value]) => Object.hasOwn(present, key) && present[key] === value,
    )
  )
    return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || selects(required, node);
}

/** Reports whether one of the terms matches. An empty term matches no node. */
function selects({ nodeSelectorTerms }: Immutable<NodeSelector>, node: ReadNode): boolean {
  return nodeSelectorTerms.some(
    ({ matchExpressions = [], matchFields = [] }: Immutable<NodeSelectorTerm>) => {
      if (matchExpressions.length + matchFields.length === 0) return false;
      return (
        matchExpressions.every((requirement) => meets(requirement, node.metadata.labels ?? {})) &&
        matchFields.every((requirement) => meets(requirement, { [NODE_NAME]: node.metadata.name }))
      );
    },
  );
}

const OPERATORS: Readonly<Record<NodeSelectorRequirement['operator'], Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: 'gt',
  Lt: 'lt',
};

function meets(
  { key, operator, values }: Immutable<NodeSelectorRequirement>,
  present: Readonly<Record<string, string>>,
): boolean {
  return new Requirement(key, OPERATORS[operator], values ?? []).matches(present);
}

/** Returns the node where the pod runs or to which it will be bound; undefined if it names none. */
export function targetNodeOf({ spec }: Immutable<Pod>): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? [];
  for (const { matchFields } of terms) {
    const [only, ...more] = matchFields ?? [];
    if (
      only !== undefined &&
      more.length === 0 &&
      only.key === NODE_NAME &&
      only.operator === 'In' &&
      only.values?.length === 1
    ) {
      return only.values[0];
    }
  }
  return undefined;
}

/** Returns the pod template for a node, labelled with the revision's hash. */
export function templateFor(
  set: Immutable<DaemonSet>,
  node: string,
  hash: string,
): Immutable<PodTemplateSpec> {
  const { template } = set.spec;
  const generation = templateGenerationOf(set);
  return {
    ...template,
    metadata: {
      ...template.metadata,
      labels: {
        ...template.metadata.labels,
        ...(generation !== undefined && { [TEMPLATE_GENERATION]: generation }),
        [REVISION_HASH]: hash,
      },
    },
    spec: {
      ...template.spec,
      affinity: onlyOn(node, template.spec.affinity),
      tolerations: tolerationsOf(template.spec),
    },
  };
}

/**
 * Returns the affinity with a required term for this node only. The template's own required terms
 * are evaluated before.
 */
function onlyOn(node: string, affinity: Immutable<Affinity> | undefined): Immutable<Affinity> {
  const nodeSelectorTerms = [
    { matchFields: [{ key: NODE_NAME, operator: 'In' as const, values: [node] }] },
  ];
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
}

/** Reports whether the pod was created from the current template. */
export function isUpdated(
  { metadata }: Immutable<Pod>,
  set: Immutable<DaemonSet>,
  hash: string,
): boolean {
  if (metadata.labels?.[REVISION_HASH] === hash) return true;
  const generation = templateGenerationOf(set);
  return generation !== undefined && metadata.labels?.[TEMPLATE_GENERATION] === generation;
}

function templateGenerationOf({ metadata }: Immutable<DaemonSet>): string | undefined {
  const generation = metadata.annotations?.[TEMPLATE_GENERATION_ANNOTATION];
  return generation !== undefined && /^-?\d+$/.test(generation) ? generation : undefined;
}
