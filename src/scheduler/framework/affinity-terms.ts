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

/** Which pods, and within which topology. Immutable. */
export interface AffinityTerm {
  /** The namespaces given by name; the pod's own if it names none and selects none. */
  readonly namespaces: ReadonlySet<string>;
  /** Further namespaces, by their labels. */
  readonly namespaceSelector: Selector | undefined;
  readonly selector: Selector;
  readonly topologyKey: string;
  /** Two terms with the same identity mean the same pods and the same topology. */
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
  /** Set if the pod's terms cannot be read; then there are none above. */
  readonly error: string | undefined;
}

/** The labels of a namespace; undefined if it is not known. */
export type NamespaceLabels = (namespace: string) => Labels | undefined;

const NO_TERMS: AffinityTerms = {
  requiredAffinity: [],
  requiredAntiAffinity: [],
  preferredAffinity: [],
  preferredAntiAffinity: [],
  error: undefined,
};

/** Whether the pod says anything about other pods. */
export function hasAffinityTerms({ spec: { affinity } }: Pod): boolean {
  return (
    affinity !== undefined &&
    (affinity.podAffinity !== undefined || affinity.podAntiAffinity !== undefined)
  );
}

/** By pod, which is immutable. */
const read = new WeakMap<Pod, AffinityTerms>();
/** The last one of which terms were read: mostly, the next one is of the same template. */
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

/** All that `readTerms` looks at. */
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
    // Older objects were not validated as strictly. As in Kubernetes, terms that cannot be parsed
    // have no effect on other pods.
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
 * The selector narrowed by matchLabelKeys and mismatchLabelKeys: to the values that the pod itself
 * has. An API server may have written that into the pod's selector when the pod was created; what
 * it wrote stands, whatever labels the pod has had since.
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
      .map((key) => ({ key, operator, values: [labels[key] as string] })),
  });
  const more = [narrow(term.matchLabelKeys, 'In'), narrow(term.mismatchLabelKeys, 'NotIn')].flatMap(
    (addition) => labelSelectorAsSelector(addition).requirements() ?? [],
  );
  return more.length === 0 ? selector : selector.add(...more);
}

/**
 * Tells selectors apart: one that selects nothing and one that selects everything have the same
 * text.
 */
export function selectorIdentity(selector: Selector): string | null {
  return selector.requirements() === undefined ? null : selector.toString();
}

/** A label that a pod must have to be selected, if there is one. */
export function demandedLabel(
  selector: Selector,
): readonly [key: string, value: string] | undefined {
  for (const { key } of selector.requirements() ?? []) {
    const value = selector.requiresExactMatch(key);
    if (value !== undefined) return [key, value];
  }
  return undefined;
}

/** Whether the term means this pod, wherever it is. */
export function termMatches(term: AffinityTerm, pod: Pod, labelsOf: NamespaceLabels): boolean {
  const namespace = pod.metadata.namespace ?? '';
  if (!term.namespaces.has(namespace)) {
    const { namespaceSelector } = term;
    if (namespaceSelector === undefined) return false;
    // A namespace that is not known (yet) has no labels.
    if (!namespaceSelector.empty() && !namespaceSelector.matches(labelsOf(namespace))) return false;
  }
  return term.selector.matches(pod.metadata.labels);
}

/** Whether the pod is meant by every one of the terms. Without terms, none is. */
export function allTermsMatch(
  terms: readonly AffinityTerm[],
  pod: Pod,
  labelsOf: NamespaceLabels,
): boolean {
  return terms.length > 0 && terms.every((term) => termMatches(term, pod, labelsOf));
}
