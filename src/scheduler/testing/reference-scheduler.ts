// The combined reference rules: feasible nodes, their scores, and victims of preemption. As plain
// and slow as its parts; it shares no code with the scheduler.

import type { NodeAffinity } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Node, Pod } from '../framework/objects.ts';
import {
  affinityConcerns,
  affinityScores,
  affinityVerdict,
  type ReferenceWorld,
  spreadScores,
  spreadVerdict,
} from './reference.ts';
import {
  balanceScore,
  fitScore,
  imageScore,
  nodeAffinityScores,
  nodeRefusal,
  type Refusal,
  refused,
  type Strategy,
  taintScores,
} from './reference-nodes.ts';

export interface ReferenceArgs {
  readonly added?: Immutable<NodeAffinity>;
  readonly ignoredResources: readonly string[];
  readonly strategy: Strategy;
  readonly balanced: readonly string[];
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

const SPREAD = "node(s) didn't match pod topology spread constraints";
const SPREAD_REFUSALS = {
  skewed: refused(SPREAD, false),
  'missing label': refused(`${SPREAD} (missing required label)`, true),
};
const AFFINITY_REFUSALS = {
  affinity: refused("node(s) didn't match pod affinity rules", true),
  'anti-affinity': refused("node(s) didn't match pod anti-affinity rules", false),
  existing: refused("node(s) didn't satisfy existing pods anti-affinity rules", false),
};

/** Returns the rejection. `withAffinity`: whether inter-pod affinity is evaluated. */
function refusalNow(
  pod: Pod,
  node: Node,
  world: ReferenceWorld,
  { added, ignoredResources }: ReferenceArgs,
  withAffinity = true,
): Refusal | undefined {
  const options = { ignored: ignoredResources, ...(added !== undefined && { added }) };
  const byNode = nodeRefusal(pod, node, world.podsOn(node.metadata.name), options);
  if (byNode !== undefined) return byNode;
  const spread = spreadVerdict(pod, node, world);
  if (spread !== 'ok') return SPREAD_REFUSALS[spread];
  if (!withAffinity) return undefined;
  const affinity = affinityVerdict(pod, node, world);
  return affinity === 'ok' ? undefined : AFFINITY_REFUSALS[affinity];
}

const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0;

/**
 * Returns the rejection. `nominated`: pods that are nominated to the node. Pods of equal or higher
 * priority must fit beside the pod; affinity terms of nominated pods are ignored until they are
 * bound, as upstream.
 */
export function refusal(
  pod: Pod,
  node: Node,
  world: ReferenceWorld,
  nominated: readonly Pod[],
  args: ReferenceArgs,
): Refusal | undefined {
  const now = refusalNow(pod, node, world, args);
  const ahead = nominated.filter(
    (other) => priorityOf(other) >= priorityOf(pod) && other.metadata.uid !== pod.metadata.uid,
  );
  if (ahead.length === 0) return now;
  return (
    refusalNow(pod, node, withPods(world, node, [], ahead), args, affinityConcerns(pod, world)) ??
    now
  );
}

function withPods(
  world: ReferenceWorld,
  { metadata: { name } }: Node,
  less: readonly Pod[],
  more: readonly Pod[],
): ReferenceWorld {
  const here = [...world.podsOn(name).filter((pod) => !less.includes(pod)), ...more];
  return { ...world, podsOn: (node) => (node === name ? here : world.podsOn(node)) };
}

/** Returns the scores by plugin for feasible nodes. */
export function scoresByPlugin(
  pod: Pod,
  nodes: readonly Node[],
  world: ReferenceWorld,
  args: ReferenceArgs,
): Readonly<Record<string, readonly number[]>> {
  const on = (node: Node): readonly Pod[] => world.podsOn(node.metadata.name);
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const prefers = [podAffinity, podAntiAffinity].some(
    (one) => (one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0,
  );
  const noAffinity = args.ignorePreferredTermsOfExistingPods && !prefers;
  return {
    TaintToleration: taintScores(pod, nodes),
    NodeAffinity: nodeAffinityScores(pod, nodes, args.added),
    NodeResourcesFit: nodes.map((node) => fitScore(pod, node, on(node), args.strategy)),
    PodTopologySpread: spreadScores(pod, nodes, world),
    InterPodAffinity: noAffinity
      ? nodes.map(() => 0)
      : affinityScores(pod, nodes, world, args.hardPodAffinityWeight),
    NodeResourcesBalancedAllocation: nodes.map((node) =>
      balanceScore(pod, node, on(node), args.balanced),
    ),
    ImageLocality: nodes.map((node) => imageScore(pod, node, world.nodes)),
  };
}

/** The victims of a pod on a node. */
export interface Preemption {
  readonly node: string;
  readonly victims: readonly Pod[];
  /** The victims whose eviction violates a disruption budget. */
  readonly violating: readonly Pod[];
}

/** Orders by importance: by priority, then by start time. */
function byImportance(a: Pod, b: Pod): number {
  const [startA, startB] = [a.status.startTime ?? '~', b.status.startTime ?? '~'];
  return priorityOf(b) - priorityOf(a) || (startA < startB ? -1 : startA > startB ? 1 : 0);
}

/**
 * Returns the victims on each node where preemption helps: all less important pods are removed, and
 * then added back while the pod still fits, those that budgets protect before the others, the most
 * important first. Returns undefined if the order of two pods is undefined, because they are
 * equally important.
 */
export function preemptions(
  pod: Pod,
  world: ReferenceWorld,
  nominatedOn: (node: string) => readonly Pod[],
  args: ReferenceArgs,
): readonly Preemption[] | undefined {
  const found: Preemption[] = [];
  for (const node of world.nodes) {
    const { name } = node.metadata;
    const nominated = nominatedOn(name);
    if (refusal(pod, node, world, nominated, args)?.hopeless !== false) continue;
    const lower = world
      .podsOn(name)
      .filter((other) => priorityOf(other) < priorityOf(pod))
      .sort(byImportance);
    if (lower.length === 0) continue;
    if (lower.some((other, i) => i > 0 && byImportance(lower[i - 1]!, other) === 0))
      return undefined;
    const without = (victims: readonly Pod[]): boolean =>
      refusal(pod, node, withPods(world, node, victims, []), nominated, args) === undefined;
    if (!without(lower)) continue;
    const protectedOnes = overdrawing(lower, world);
    let victims: readonly Pod[] = lower;
    for (const other of [
      ...protectedOnes,
      ...lower.filter((one) => !protectedOnes.includes(one)),
    ]) {
      const fewer = victims.filter((victim) => victim !== other);
      if (without(fewer)) victims = fewer;
    }
    found.push({
      node: name,
      victims,
      violating: victims.filter((victim) => protectedOnes.includes(victim)),
    });
  }
  return found;
}

/** Returns the pods that exceed a budget if all pods are evicted in this order. */
function overdrawing(pods: readonly Pod[], { budgets = [] }: ReferenceWorld): readonly Pod[] {
  const left = budgets.map(({ allowed }) => allowed);
  return pods.filter(({ metadata: { namespace, labels = {} } }) => {
    let overdrawn = false;
    budgets.forEach((budget, i) => {
      const meant = Object.entries(budget.selector).every(([key, value]) => labels[key] === value);
      if (budget.namespace !== namespace || !meant) return;
      left[i] = (left[i] ?? 0) - 1;
      if ((left[i] ?? 0) < 0) overdrawn = true;
    });
    return overdrawn;
  });
}

/** Returns the criteria by which candidates are compared, in order: lower is better. */
function price({ victims, violating }: Preemption): readonly (number | string)[] {
  const priorities = victims.map(priorityOf);
  const highest = Math.max(...priorities);
  const starts = victims
    .filter((victim) => priorityOf(victim) === highest)
    .map(({ status }) => status.startTime ?? '~');
  const earliest = starts.sort()[0] ?? '~';
  // Inverted, since later start times are better: pods that have not run for long are evicted
  // first.
  const inverted = [...earliest]
    .map((char) => String.fromCharCode(200 - char.charCodeAt(0)))
    .join('');
  return [
    violating.length,
    highest,
    priorities.reduce((sum, priority) => sum + priority + 2 ** 31, 0),
    victims.length,
    inverted,
  ];
}

/** Returns the best candidates; several if they are equally good. */
export function bestOf(candidates: readonly Preemption[]): readonly Preemption[] {
  const less = (a: readonly (number | string)[], b: readonly (number | string)[]): boolean => {
    const at = a.findIndex((value, i) => value !== b[i]);
    return at >= 0 && (a[at] as number | string) < (b[at] as number | string);
  };
  return candidates.filter((one) => !candidates.some((other) => less(price(other), price(one))));
}
