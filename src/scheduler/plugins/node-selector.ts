// Node selectors (as in node affinity), compiled once for a pod and matched with many nodes.

import type {
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PreferredSchedulingTerm,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Operator, Requirement } from '#machinery/selectors/labels.ts';
import type { Node, Pod } from '../framework/objects.ts';

export type NodeMatcher = (node: Node) => boolean;

const OPERATORS: Readonly<Record<NodeSelectorRequirement['operator'], Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: 'gt',
  Lt: 'lt',
};

const NO_LABELS: Readonly<Record<string, string>> = {};

/** Compiles a selector: one term has to match; without terms it matches nothing. */
export function compileNodeSelector(selector: Immutable<NodeSelector>): NodeMatcher {
  const terms = selector.nodeSelectorTerms.map(compileTerm);
  if (terms.length === 1) return terms[0]!;
  return (node) => terms.some((term) => term(node));
}

/** Compiles a term: all requirements have to match; an empty term matches nothing. */
function compileTerm(term: Immutable<NodeSelectorTerm>): NodeMatcher {
  if (isEmptyTerm(term)) return () => false;
  const labels = (term.matchExpressions ?? []).map(compileRequirement);
  const fields = (term.matchFields ?? []).map(compileRequirement);
  return (node) => {
    const nodeLabels = node.metadata.labels ?? NO_LABELS;
    for (const requirement of labels) if (!requirement.matches(nodeLabels)) return false;
    if (fields.length === 0) return true;
    const nodeFields = { 'metadata.name': node.metadata.name };
    return fields.every((requirement) => requirement.matches(nodeFields));
  };
}

function compileRequirement({
  key,
  operator,
  values,
}: Immutable<NodeSelectorRequirement>): Requirement {
  return new Requirement(key, OPERATORS[operator], values ?? []);
}

/** Compiles the labels of a pod's spec.nodeSelector. */
function compileLabels(labels: Readonly<Record<string, string>>): NodeMatcher {
  const wanted = Object.entries(labels);
  return (node) => {
    const present = node.metadata.labels ?? NO_LABELS;
    return wanted.every(([key, value]) => Object.hasOwn(present, key) && present[key] === value);
  };
}

/**
 * Returns the requirements of the pod's nodeSelector and node affinity; undefined if there are
 * none.
 */
export function requiredBy(pod: Pod): NodeMatcher | undefined {
  const labels = pod.spec.nodeSelector;
  const selector = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const hasLabels = labels !== undefined && Object.keys(labels).length > 0;
  if (!hasLabels) return selector === undefined ? undefined : compileNodeSelector(selector);
  const byLabels = compileLabels(labels);
  if (selector === undefined) return byLabels;
  const bySelector = compileNodeSelector(selector);
  return (node) => byLabels(node) && bySelector(node);
}

export interface WeightedMatcher {
  readonly weight: number;
  readonly matches: NodeMatcher;
}

export function compilePreferred(
  terms: readonly Immutable<PreferredSchedulingTerm>[],
): readonly WeightedMatcher[] {
  return terms
    .filter((term) => term.weight !== 0 && !isEmptyTerm(term.preference))
    .map((term) => ({ weight: term.weight, matches: compileTerm(term.preference) }));
}

/**
 * Returns the node names to which the selector restricts nodes by `metadata.name In (…)`, of all
 * terms. Undefined if a term has no such restriction; empty if no node can match.
 */
export function nodeNamesOf(selector: Immutable<NodeSelector>): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const term of selector.nodeSelectorTerms) {
    let ofTerm: readonly string[] | undefined;
    for (const { key, operator, values } of term.matchFields ?? []) {
      if (key !== 'metadata.name' || operator !== 'In') continue;
      const listed: readonly string[] = values ?? [];
      ofTerm = ofTerm === undefined ? listed : ofTerm.filter((name) => listed.includes(name));
    }
    if (ofTerm === undefined) return undefined;
    for (const name of ofTerm) names.add(name);
  }
  return names;
}

function isEmptyTerm(term: Immutable<NodeSelectorTerm>): boolean {
  return (term.matchExpressions?.length ?? 0) === 0 && (term.matchFields?.length ?? 0) === 0;
}
