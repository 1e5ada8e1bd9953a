// The terms of a pod's inter-pod affinity and anti-affinity, parsed once and matched with many
// pods.

import type { PodAffinityTerm, WeightedPodAffinityTerm } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import {
  type Labels,
  labelSelectorAsSelector,
  type LabelSelector,
  type Selector,
} from '#machinery/selectors/labels.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Pod } from './objects.ts';

/** The pods that the term selects, and the topology. Immutable. */
export interface AffinityTerm {
  /** The namespaces that the term names; the pod's own if it neither names nor selects any. */
  readonly namespaces: ReadonlySet<string>;
  /** Further namespaces, by their labels. */
  readonly namespaceSelector: Selector | undefined;
  readonly selector: Selector;
  readonly topologyKey: string;
  /** Terms with equal identities select the same pods and have the same topology. */
  readonly identity: string;
}

export interface WeightedAffinityTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
}

export interface AffinityTerms {
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  readonly preferredAffinity: readonly WeightedAffinityTerm[];
  readonly preferredAntiAffinity: readonly WeightedAffinityTerm[];
  /** Set if the pod's terms are invalid; the lists above are then empty. */
  readonly error: string | undefined;
}

/** Returns the labels of a namespace; undefined for an unknown one. */
export type NamespaceLabels = (namespace: string) => Labels | undefined;

const NO_TERMS: AffinityTerms = {
  requiredAffinity: [],
  requiredAntiAffinity: [],
  preferredAffinity: [],
  preferredAntiAffinity: [],
  error: undefined,
};

/** Reports whether the pod has affinity or anti-affinity terms. */
export function hasAffinityTerms({ spec: { affinity } }: Pod): boolean {
  return (
    affinity !== undefined &&
    (affinity.podAffinity !== undefined || affinity.podAntiAffinity !== undefined)
  );
}

/** Parsed terms by pod, which is immutable. */
const read = new WeakMap<Pod, AffinityTerms>();
/** The pod whose terms were parsed last: usually, the next pod has the same template. */
let last: Pod | undefined;

export function affinityTermsOf(pod: Pod): AffinityTerms {
  if (!hasAffinityTerms(pod)) return NO_TERMS;
  let terms = read.get(pod);
  if (terms === undefined) {
    const same = last !== undefined && saysTheSame(pod, last) ? read.get(last) : undefined;
    terms = same ?? readTerms(pod);
    read.set(pod, terms);
    last = pod;
  }
  return terms;
}

/** Compares all fields that `readTerms` uses. */
function saysTheSame({ metadata, spec }: Pod, other: Pod): boolean {
  return (
    metadata.namespace === other.metadata.namespace &&
    semanticEqual(metadata.labels, other.metadata.labels) &&
    semanticEqual(spec.affinity, other.spec.affinity)
  );
}

function readTerms(pod: Pod): AffinityTerms {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const plain = (terms: readonly Immutable<PodAffinityTerm>[] = []) =>
    terms.map((term) => readTerm(pod, term));
  const weighted = (terms: readonly Immutable<WeightedPodAffinityTerm>[] = []) =>
    terms.map(({ weight, podAffinityTerm }) => ({ weight, term: readTerm(pod, podAffinityTerm) }));
  try {
    return {
      requiredAffinity: plain(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
      requiredAntiAffinity: plain(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
      preferredAffinity: weighted(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
      preferredAntiAffinity: weighted(
        podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
      ),
      error: undefined,
    };
  } catch (error) {
    // Older objects were validated less strictly. As upstream, invalid terms have no effect on
    // other pods.
    return { ...NO_TERMS, error: errorMessage(error) };
  }
}

function readTerm(pod: Pod, term: Immutable<PodAffinityTerm>): AffinityTerm {
  const { topologyKey, namespaceSelector: byLabels } = term;
  const named = term.namespaces ?? [];
  const own = named.length === 0 && byLabels === undefined;
  const namespaces = new Set(own ? [pod.metadata.namespace ?? ''] : named);
  const namespaceSelector = byLabels === undefined ? undefined : labelSelectorAsSelector(byLabels);
  const selector = withLabelKeys(
    labelSelectorAsSelector(term.labelSelector),
    term,
    pod.metadata.labels ?? {},
  );
  const identity = JSON.stringify([
    topologyKey,
    selectorIdentity(selector),
    [...namespaces].sort(),
    namespaceSelector === undefined ? null : selectorIdentity(namespaceSelector),
  ]);
  return { namespaces, namespaceSelector, selector, topologyKey, identity };
}

/**
 * Returns the selector with matchLabelKeys and mismatchLabelKeys applied: restricted by the pod's
 * own label values. If the API server wrote these requirements into the selector when the pod was
 * created, they stay, even if the pod's labels have changed since.
 */
function withLabelKeys(
  selector: Selector,
  term: Immutable<PodAffinityTerm>,
  labels: Labels,
): Selector {
  if (selector.requirements() === undefined) return selector;
  const written = (key: string, operator: string): boolean =>
    (term.labelSelector?.matchExpressions ?? []).some(
      (expression) => expression.key === key && expression.operator === operator,
    );
  const narrow = (
    keys: readonly string[] | undefined,
    operator: 'In' | 'NotIn',
  ): LabelSelector => ({
    matchExpressions: (keys ?? [])
      .filter((key) => Object.hasOwn(labels, key) && !written(key, operator))
      .map((key) => ({ key, operator, values: [labels[key]!] })),
  });
  const more = [narrow(term.matchLabelKeys, 'In'), narrow(term.mismatchLabelKeys, 'NotIn')].flatMap(
    (addition) => labelSelectorAsSelector(addition).requirements() ?? [],
  );
  return more.length === 0 ? selector : selector.add(...more);
}

/**
 * Returns an identity of the selector. A selector that selects nothing and one that selects
 * everything have the same text, so the former is null.
 */
export function selectorIdentity(selector: Selector): string | null {
  return selector.requirements() === undefined ? null : selector.toString();
}

/** Returns a label that every selected pod must have, if there is one. */
export function demandedLabel(
  selector: Selector,
): readonly [key: string, value: string] | undefined {
  for (const { key } of selector.requirements() ?? []) {
    const value = selector.requiresExactMatch(key);
    if (value !== undefined) return [key, value];
  }
  return undefined;
}

/** Reports whether the term selects this pod, on any node. */
export function termMatches(term: AffinityTerm, pod: Pod, labelsOf: NamespaceLabels): boolean {
  const namespace = pod.metadata.namespace ?? '';
  if (!term.namespaces.has(namespace)) {
    const { namespaceSelector } = term;
    if (namespaceSelector === undefined) return false;
    // An unknown namespace has no labels.
    if (!namespaceSelector.empty() && !namespaceSelector.matches(labelsOf(namespace))) return false;
  }
  return term.selector.matches(pod.metadata.labels);
}

/** Reports whether every term selects the pod. Without terms, none does. */
export function allTermsMatch(
  terms: readonly AffinityTerm[],
  pod: Pod,
  labelsOf: NamespaceLabels,
): boolean {
  return terms.length > 0 && terms.every((term) => termMatches(term, pod, labelsOf));
}
