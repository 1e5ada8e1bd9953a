// On which nodes a DaemonSet's pods belong, and what makes the scheduler put each on its own: pods
// are bound by the scheduler, to the one node that their affinity names.

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
  TAINT_DISK_PRESSURE,
  TAINT_MEMORY_PRESSURE,
  TAINT_NETWORK_UNAVAILABLE,
  TAINT_NOT_READY,
  TAINT_PID_PRESSURE,
  TAINT_UNREACHABLE,
  TAINT_UNSCHEDULABLE,
  toleratesTaint,
} from '../taints.ts';
import type { ReadToleration } from '../taints.ts';

type ReadNode = Immutable<Node>;
type ReadSpec = Immutable<PodSpec>;

const NODE_NAME = 'metadata.name';
const TEMPLATE_GENERATION = 'pod-template-generation';
const TEMPLATE_GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation';

/** Daemons go on, and are started, on nodes in trouble. */
const TOLERATED: readonly (readonly [key: string, effect: NonNullable<Toleration['effect']>])[] = [
  [TAINT_NOT_READY, 'NoExecute'],
  [TAINT_UNREACHABLE, 'NoExecute'],
  [TAINT_DISK_PRESSURE, 'NoSchedule'],
  [TAINT_MEMORY_PRESSURE, 'NoSchedule'],
  [TAINT_PID_PRESSURE, 'NoSchedule'],
  [TAINT_UNSCHEDULABLE, 'NoSchedule'],
];

/** Returns the tolerations of the template, and those of every daemon pod. */
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
  /** A pod of the DaemonSet is to run there. */
  readonly shouldRun: boolean;
  /** One that runs there may stay. */
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

/** By nodeSelector and required node affinity. */
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

/** One of the terms has to match; a term that says nothing matches nothing. */
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

/** The node where the pod is, or where it is to be bound; undefined if it names none. */
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

/** The template of a pod for that node, of the revision with that hash. */
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

/** The required node affinity is evaluated already. It is replaced by the name of the node. */
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

/** Whether the pod is of the present template. */
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
