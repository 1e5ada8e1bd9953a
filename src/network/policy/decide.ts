// Computes the rules of a node from its complete input. PolicyState computes the same result
// incrementally; tests compare the two.

import type {
  CompiledPolicy,
  Group,
  GroupElements,
  Labels,
  NodeRules,
  PodRules,
  PolicyPod,
} from './model.ts';
import { elementsOf, groupsOf } from './rules/compile.ts';

export interface PolicyInput {
  readonly pods: Iterable<PolicyPod>;
  /** The labels of namespaces by name. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  readonly policies: Iterable<CompiledPolicy>;
}

/** Returns the rules for the local pods among `pods`. Pure. */
export function decide(input: PolicyInput): NodeRules {
  const all = [...input.pods];
  const policies = [...input.policies];
  const owners = new Map<string, PolicyPod>();
  for (const pod of all)
    for (const address of pod.addresses) owners.set(address, ownerOf(pod, owners.get(address)));
  const addressesOf = (pod: PolicyPod): readonly string[] =>
    pod.addresses.filter((address) => owners.get(address) === pod);
  const used = new Map<string, CompiledPolicy>();
  const pods = new Map<string, PodRules>();
  for (const pod of all.filter(({ local }) => local)) {
    const selecting = policies.filter((policy) => selects(policy, pod));
    for (const policy of selecting) used.set(policy.key, policy);
    for (const address of addressesOf(pod)) pods.set(address, rulesOf(selecting));
  }
  const groups = new Map<string, GroupElements>();
  for (const group of [...used.values()].flatMap((policy) => [...groupsOf(policy).values()])) {
    const members = all.filter((pod) => isIn(group, pod, input.namespaces));
    const elements = new Set(members.flatMap((pod) => elementsOf(group, pod, addressesOf(pod))));
    groups.set(group.id, { hasPorts: group.ports !== undefined, elements });
  }
  return { guarded: policies.length > 0, pods, policies: used, groups };
}

/** Returns the owner of an address that two pods claim. */
export function ownerOf(a: PolicyPod, b: PolicyPod | undefined): PolicyPod {
  if (b === undefined) return a;
  return a.since > b.since || (a.since === b.since && a.key > b.key) ? a : b;
}

export const selects = (policy: CompiledPolicy, pod: PolicyPod): boolean =>
  policy.namespace === pod.namespace && policy.selector.matches(pod.labels);

/** Returns the rules of a pod that these policies select. */
export function rulesOf(selecting: readonly CompiledPolicy[]): PodRules {
  const keys = (policies: readonly CompiledPolicy[]): readonly string[] | undefined =>
    policies.length === 0 ? undefined : policies.map(({ key }) => key).sort();
  return {
    ingress: keys(selecting.filter(({ ingress }) => ingress !== undefined)),
    egress: keys(selecting.filter(({ egress }) => egress !== undefined)),
  };
}

function isIn(group: Group, pod: PolicyPod, namespaces: ReadonlyMap<string, Labels>): boolean {
  return (
    isNamespaceIn(group, pod.namespace, namespaces.get(pod.namespace)) &&
    group.pods.matches(pod.labels)
  );
}

/**
 * Reports whether a namespace is in the group. `labels`: undefined for an unknown namespace, which
 * no selector matches, not even an empty one.
 */
export function isNamespaceIn(
  group: Group,
  namespace: string,
  labels: Labels | undefined,
): boolean {
  if (typeof group.namespaces === 'string') return group.namespaces === namespace;
  return labels !== undefined && group.namespaces.matches(labels);
}
