// A plain reference implementation of the documented rules for inter-pod affinity and topology
// spread: every pod is compared with every node and every other pod. The plugins have to agree with
// it. It shares no code with them.

import type { Immutable, LabelSelector } from '#api/machinery/meta/v1/index.ts';
import type {
  PodAffinityTerm,
  TopologySpreadConstraint,
  WeightedPodAffinityTerm,
} from '#api/groups/core/v1/index.ts';
import type { Node, Pod } from '../framework/objects.ts';
import { toleratesAll, wantsNode } from './reference-nodes.ts';

type Labels = Readonly<Record<string, string>>;
type Term = Immutable<PodAffinityTerm>;
type Spread = Immutable<TopologySpreadConstraint>;

export interface ReferenceWorld {
  readonly nodes: readonly Node[];
  /** Returns the pods on the node with this name. */
  readonly podsOn: (node: string) => readonly Pod[];
  readonly namespaceLabels: (namespace: string) => Labels;
  /** Services with their selectors. Default: none. */
  readonly services?: readonly { readonly namespace: string; readonly selector: Labels }[];
  /** Disruption budgets, with the number of selected pods that may be evicted. Default: none. */
  readonly budgets?: readonly {
    readonly namespace: string;
    readonly selector: Labels;
    readonly allowed: number;
  }[];
}

/**
 * Reports whether the selector matches. A missing selector matches nothing, an empty one
 * everything.
 */
function selects(selector: Immutable<LabelSelector> | undefined, labels: Labels = {}): boolean {
  if (selector === undefined) return false;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    if (labels[key] !== value) return false;
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = labels[key];
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      default:
        return value === undefined;
    }
  });
}

/** Reports whether `owner`'s term selects `other`. */
function means(owner: Pod, term: Term, other: Pod, world: ReferenceWorld): boolean {
  const { namespaces = [], namespaceSelector } = term;
  const namespace = other.metadata.namespace ?? '';
  const inNamespace =
    namespaces.length === 0 && namespaceSelector === undefined
      ? namespace === owner.metadata.namespace
      : namespaces.includes(namespace) ||
        selects(namespaceSelector, world.namespaceLabels(namespace));
  if (!inNamespace || !selects(term.labelSelector, other.metadata.labels)) return false;
  const [own, theirs] = [owner.metadata.labels ?? {}, other.metadata.labels ?? {}];
  return (
    (term.matchLabelKeys ?? []).every(
      (key) => own[key] === undefined || theirs[key] === own[key],
    ) &&
    (term.mismatchLabelKeys ?? []).every(
      (key) => own[key] === undefined || theirs[key] !== own[key],
    )
  );
}

function everyPod({ nodes, podsOn }: ReferenceWorld): { readonly pod: Pod; readonly node: Node }[] {
  return nodes.flatMap((node) => podsOn(node.metadata.name).map((pod) => ({ pod, node })));
}

function sameDomain(a: Node, b: Node, key: string): boolean {
  const value = a.metadata.labels?.[key];
  return value !== undefined && b.metadata.labels?.[key] === value;
}

const requiredTerms = (pod: Pod, kind: 'podAffinity' | 'podAntiAffinity'): readonly Term[] =>
  pod.spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const preferredTerms = (
  pod: Pod,
  kind: 'podAffinity' | 'podAntiAffinity',
): readonly Immutable<WeightedPodAffinityTerm>[] =>
  pod.spec.affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? [];

/** Reports whether any rule concerns the pod: its own, or an anti-affinity rule of another pod. */
export function affinityConcerns(pod: Pod, world: ReferenceWorld): boolean {
  if (requiredTerms(pod, 'podAffinity').length + requiredTerms(pod, 'podAntiAffinity').length > 0)
    return true;
  return everyPod(world).some((other) =>
    requiredTerms(other.pod, 'podAntiAffinity').some(
      (term) =>
        other.node.metadata.labels?.[term.topologyKey] !== undefined &&
        means(other.pod, term, pod, world),
    ),
  );
}

/** Returns 'ok', or the rule that keeps the pod off the node. */
export function affinityVerdict(
  pod: Pod,
  node: Node,
  world: ReferenceWorld,
): 'ok' | 'affinity' | 'anti-affinity' | 'existing' {
  const others = everyPod(world);
  const wanted = requiredTerms(pod, 'podAffinity');
  const has = (key: string, of: Node): boolean => of.metadata.labels?.[key] !== undefined;
  if (wanted.some(({ topologyKey }) => !has(topologyKey, node))) return 'affinity';
  if (wanted.length > 0) {
    const matching = others.filter((other) =>
      wanted.every((term) => means(pod, term, other.pod, world)),
    );
    const met = wanted.every(({ topologyKey }) =>
      matching.some((other) => sameDomain(node, other.node, topologyKey)),
    );
    const anywhere = matching.some((other) =>
      wanted.some(({ topologyKey }) => has(topologyKey, other.node)),
    );
    const itself = wanted.every((term) => means(pod, term, pod, world));
    if (!met && (anywhere || !itself)) return 'affinity';
  }
  for (const term of requiredTerms(pod, 'podAntiAffinity')) {
    if (
      others.some(
        (other) =>
          sameDomain(node, other.node, term.topologyKey) && means(pod, term, other.pod, world),
      )
    ) {
      return 'anti-affinity';
    }
  }
  for (const other of others) {
    for (const term of requiredTerms(other.pod, 'podAntiAffinity')) {
      if (sameDomain(node, other.node, term.topologyKey) && means(other.pod, term, pod, world))
        return 'existing';
    }
  }
  return 'ok';
}

/** Returns the scores of the nodes, 0 to 100. */
export function affinityScores(
  pod: Pod,
  nodes: readonly Node[],
  world: ReferenceWorld,
  hardWeight: number,
): number[] {
  const raw = nodes.map((node) => {
    let score = 0;
    for (const other of everyPod(world)) {
      const count = (owner: Pod, term: Term, weight: number, meant: Pod): void => {
        if (sameDomain(node, other.node, term.topologyKey) && means(owner, term, meant, world))
          score += weight;
      };
      for (const { weight, podAffinityTerm: term } of preferredTerms(pod, 'podAffinity'))
        count(pod, term, weight, other.pod);
      for (const { weight, podAffinityTerm: term } of preferredTerms(pod, 'podAntiAffinity'))
        count(pod, term, -weight, other.pod);
      for (const term of requiredTerms(other.pod, 'podAffinity'))
        count(other.pod, term, hardWeight, pod);
      for (const { weight, podAffinityTerm: term } of preferredTerms(other.pod, 'podAffinity'))
        count(other.pod, term, weight, pod);
      for (const { weight, podAffinityTerm: term } of preferredTerms(
        other.pod,
        'podAntiAffinity',
      )) {
        count(other.pod, term, -weight, pod);
      }
    }
    return score;
  });
  const [least, most] = [Math.min(...raw), Math.max(...raw)];
  return raw.map((score) =>
    most === least ? 0 : Math.trunc(100 * ((score - least) / (most - least))),
  );
}

function spreads(pod: Pod, constraint: Spread, other: Pod): boolean {
  if (
    other.metadata.namespace !== pod.metadata.namespace ||
    !selects(constraint.labelSelector, other.metadata.labels)
  )
    return false;
  const [own, theirs] = [pod.metadata.labels ?? {}, other.metadata.labels ?? {}];
  return (constraint.matchLabelKeys ?? []).every(
    (key) => own[key] === undefined || theirs[key] === own[key],
  );
}

function included(pod: Pod, constraint: Spread, together: readonly Spread[], node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (together.some(({ topologyKey }) => labels[topologyKey] === undefined)) return false;
  if (constraint.nodeAffinityPolicy !== 'Ignore' && !wantsNode(pod, node)) return false;
  return constraint.nodeTaintsPolicy !== 'Honor' || toleratesAll(pod, node);
}

const living = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined;

export function spreadVerdict(
  pod: Pod,
  node: Node,
  world: ReferenceWorld,
): 'ok' | 'skewed' | 'missing label' {
  const hard = (pod.spec.topologySpreadConstraints ?? []).filter(
    (c) => c.whenUnsatisfiable === 'DoNotSchedule',
  );
  for (const constraint of hard) {
    const { topologyKey, maxSkew, minDomains = 1 } = constraint;
    const domain = node.metadata.labels?.[topologyKey];
    if (domain === undefined) return 'missing label';
    const counts = new Map<string, number>();
    for (const other of world.nodes.filter((candidate) =>
      included(pod, constraint, hard, candidate),
    )) {
      const matching = world
        .podsOn(other.metadata.name)
        .filter((p) => living(p) && spreads(pod, constraint, p)).length;
      const value = other.metadata.labels?.[topologyKey] ?? '';
      counts.set(value, (counts.get(value) ?? 0) + matching);
    }
    const least = counts.size < minDomains ? 0 : Math.min(...counts.values());
    const self = spreads(pod, constraint, pod) ? 1 : 0;
    if ((counts.get(domain) ?? 0) + self - least > maxSkew) return 'skewed';
  }
  return 'ok';
}

const SYSTEM_DEFAULTS = [
  { topologyKey: 'kubernetes.io/hostname', maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5 },
];

/**
 * Returns the default constraints of a pod without its own: it is spread among the pods of its
 * Services.
 */
function defaultSpread(
  { metadata: { namespace, labels = {} } }: Pod,
  { services = [] }: ReferenceWorld,
): readonly Spread[] {
  const own = services.filter(
    (service) =>
      service.namespace === namespace &&
      Object.entries(service.selector).every(([key, value]) => labels[key] === value),
  );
  if (own.length === 0) return [];
  const matchLabels = Object.fromEntries(own.flatMap(({ selector }) => Object.entries(selector)));
  return SYSTEM_DEFAULTS.map((constraint) => ({
    ...constraint,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels },
  }));
}

/** Returns scores; all 0 if the pod has no spread constraints. */
export function spreadScores(pod: Pod, nodes: readonly Node[], world: ReferenceWorld): number[] {
  const own = pod.spec.topologySpreadConstraints ?? [];
  const soft =
    own.length === 0
      ? defaultSpread(pod, world)
      : own.filter((constraint) => constraint.whenUnsatisfiable === 'ScheduleAnyway');
  if (soft.length === 0) return nodes.map(() => 0);
  // Nodes without one of the topologies are left out, unless the constraints are defaults.
  const demanded = own.length === 0 ? [] : soft;
  const labelOf = (node: Node, key: string): string | undefined => node.metadata.labels?.[key];
  const complete = (node: Node): boolean =>
    demanded.every(({ topologyKey }) => labelOf(node, topologyKey) !== undefined);
  const scored = nodes.filter(complete);
  const raw = nodes.map((node) => {
    let score = 0;
    for (const constraint of soft) {
      const { topologyKey, maxSkew } = constraint;
      if (labelOf(node, topologyKey) === undefined) continue;
      const perHost = topologyKey === 'kubernetes.io/hostname';
      const domains = perHost
        ? scored.length
        : new Set(scored.map((other) => labelOf(other, topologyKey))).size;
      let count = 0;
      for (const other of world.nodes) {
        const here = perHost
          ? other === node
          : sameDomain(node, other, topologyKey) && included(pod, constraint, demanded, other);
        if (here)
          count += world
            .podsOn(other.metadata.name)
            .filter((p) => living(p) && spreads(pod, constraint, p)).length;
      }
      score += count * Math.log(domains + 2) + maxSkew - 1;
    }
    return Math.round(score);
  });
  const counted = raw.filter((_, i) => complete(nodes[i]!));
  const [least, most] = [Math.min(...counted), Math.max(0, ...counted)];
  return raw.map((score, i) => {
    if (!complete(nodes[i]!)) return 0;
    return most === 0 ? 100 : Math.trunc((100 * (most + least - score)) / most);
  });
}
