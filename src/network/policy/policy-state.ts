// The observed objects and the resulting rules. The cost of an update is proportional to the
// change: for a pod, to the groups of its namespace; for a policy, to the local pods of its
// namespace. Work over many pods is done in steps.

import type { Steps } from '#machinery/turn.ts';
import { ownerOf, rulesOf, selects } from './decide.ts';
import { Groups, type PlacedPod } from './groups.ts';
import type {
  CompiledPolicy,
  Labels,
  NodeRules,
  PodRules,
  PolicyPod,
  RulesChange,
} from './model.ts';
import { groupsOf } from './rules/compile.ts';

interface LivePolicy {
  policy: CompiledPolicy;
  /** Keys of the local pods that the policy selects. */
  readonly selected: Set<string>;
}

export class PolicyState {
  readonly #namespaces = new Map<string, Labels>();
  readonly #pods = new Map<string, PolicyPod>();
  /** By address: every pod that claims it. */
  readonly #claims = new Map<string, Set<PolicyPod>>();
  /** Pods by namespace and key, as groups and rules have them. */
  readonly #placed = new Map<string, Map<string, PlacedPod>>();
  readonly #localPods = new Map<string, Map<string, PlacedPod>>();
  /** Policies by namespace and key. */
  readonly #policies = new Map<string, Map<string, LivePolicy>>();
  #policyCount = 0;
  readonly #groups: Groups;
  readonly #podRules = new Map<string, PodRules>();
  readonly #usedPolicies = new Map<string, CompiledPolicy>();
  #changedPods = new Set<string>();
  #changedPolicies = new Set<string>();

  /** Creates an empty state. `maxElements`: of all groups. Default: two million. */
  constructor(maxElements?: number) {
    this.#groups = new Groups(maxElements);
  }

  /** The number of groups without all of their addresses, because of the limit. */
  get incompleteGroups(): number {
    return this.#groups.incomplete;
  }

  /** Adds missing elements to incomplete groups, as far as the limit allows. */
  complete(): Steps<void> {
    return this.#groups.complete(this.#placed);
  }

  get rules(): NodeRules {
    return {
      guarded: this.#policyCount > 0,
      pods: this.#podRules,
      policies: this.#usedPolicies,
      groups: this.#groups.elements,
    };
  }

  /** Returns the difference since the last call. */
  takeChange(): RulesChange {
    const change = {
      pods: this.#changedPods,
      policies: this.#changedPolicies,
      groups: this.#groups.takeChanges(),
    };
    this.#changedPods = new Set();
    this.#changedPolicies = new Set();
    return change;
  }

  *setNamespace(name: string, labels: Labels | undefined): Steps<void> {
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    yield* this.#groups.setNamespace(name, labels, this.#placed.get(name));
  }

  *setPod(key: string, pod: PolicyPod | undefined): Steps<void> {
    const previous = this.#pods.get(key);
    if (pod === undefined) this.#pods.delete(key);
    else this.#pods.set(key, pod);
    const touched = new Map<string, PolicyPod | undefined>([[key, pod]]);
    for (const address of previous?.addresses ?? [])
      this.#claim(address, previous, undefined, touched);
    for (const address of pod?.addresses ?? []) this.#claim(address, undefined, pod, touched);
    // If pods exchange addresses, all lose theirs before one gets another's.
    if (touched.size > 1)
      for (const touchedKey of touched.keys()) yield* this.#place(touchedKey, undefined);
    for (const [touchedKey, value] of touched) yield* this.#place(touchedKey, value);
  }

  *setPolicy(key: string, policy: CompiledPolicy | undefined): Steps<void> {
    const namespace = policy?.namespace ?? key.slice(0, key.indexOf('/'));
    const live = this.#policies.get(namespace)?.get(key);
    if (policy === undefined && live === undefined) return;
    const policies = entryOf(this.#policies, namespace);
    const before = live?.policy;
    const next = live ?? { policy: policy as CompiledPolicy, selected: new Set<string>() };
    const wasUsed = next.selected.size > 0;
    if (policy === undefined) policies.delete(key);
    else policies.set(key, Object.assign(next, { policy }));
    if (policies.size === 0) this.#policies.delete(namespace);
    this.#policyCount += (policy === undefined ? 0 : 1) - (live === undefined ? 0 : 1);
    for (const [podKey, placed] of this.#localPods.get(namespace) ?? []) {
      const isSelected = policy !== undefined && selects(policy, placed.pod);
      if (isSelected || next.selected.has(podKey)) {
        if (isSelected) next.selected.add(podKey);
        else next.selected.delete(podKey);
        this.#decidePod(placed);
        yield;
      }
    }
    const isUsed = next.selected.size > 0;
    if (isUsed && policy !== undefined) yield* this.#use(policy);
    if (wasUsed && before !== undefined) this.#release(before, isUsed);
  }

  /**
   * Adds or removes a claim of an address. A pod that gets or loses the address is marked as
   * touched.
   */
  #claim(
    address: string,
    removed: PolicyPod | undefined,
    added: PolicyPod | undefined,
    touched: Map<string, PolicyPod | undefined>,
  ): void {
    const claims = this.#claims.get(address) ?? new Set<PolicyPod>();
    if (removed !== undefined) claims.delete(removed);
    if (added !== undefined) claims.add(added);
    if (claims.size === 0) this.#claims.delete(address);
    else this.#claims.set(address, claims);
    for (const other of claims) if (!touched.has(other.key)) touched.set(other.key, other);
  }

  *#place(key: string, pod: PolicyPod | undefined): Steps<void> {
    const namespace = key.slice(0, key.indexOf('/'));
    const pods = entryOf(this.#placed, namespace);
    const local = entryOf(this.#localPods, namespace);
    const previous = pods.get(key);
    const next =
      pod === undefined
        ? undefined
        : { pod, addresses: pod.addresses.filter((ip) => this.#owner(ip) === pod) };
    if (next === undefined) pods.delete(key);
    else pods.set(key, next);
    if (pods.size === 0) this.#placed.delete(namespace);
    this.#groups.movePod(previous, next, this.#namespaces.get(namespace));
    const wasLocal = previous?.pod.local === true;
    const isLocal = next?.pod.local === true;
    if (isLocal) local.set(key, next);
    else local.delete(key);
    if (local.size === 0) this.#localPods.delete(namespace);
    if (wasLocal) for (const address of previous.addresses) this.#setRules(address, undefined);
    if (!wasLocal && !isLocal) return;
    for (const live of this.#policies.get(namespace)?.values() ?? []) {
      yield* this.#select(live, key, isLocal ? next : undefined);
    }
    if (isLocal) this.#decidePod(next);
    yield;
  }

  *#select(live: LivePolicy, key: string, placed: PlacedPod | undefined): Steps<void> {
    const { policy, selected } = live;
    const wasUsed = selected.size > 0;
    if (placed !== undefined && selects(policy, placed.pod)) selected.add(key);
    else selected.delete(key);
    if (selected.size > 0 && !wasUsed) yield* this.#use(policy);
    if (selected.size === 0 && wasUsed) this.#release(policy, false);
  }

  #owner(address: string): PolicyPod | undefined {
    let owner: PolicyPod | undefined;
    for (const pod of this.#claims.get(address) ?? []) owner = ownerOf(pod, owner);
    return owner;
  }

  *#use(policy: CompiledPolicy): Steps<void> {
    this.#usedPolicies.set(policy.key, policy);
    this.#changedPolicies.add(policy.key);
    for (const group of groupsOf(policy).values())
      yield* this.#groups.acquire(group, this.#namespaces, this.#placed);
  }

  #release(policy: CompiledPolicy, isReplaced: boolean): void {
    if (!isReplaced) this.#usedPolicies.delete(policy.key);
    this.#changedPolicies.add(policy.key);
    for (const group of groupsOf(policy).values()) this.#groups.release(group);
  }

  #decidePod({ pod, addresses }: PlacedPod): void {
    if (addresses.length === 0) return;
    const policies = this.#policies.get(pod.namespace) ?? new Map<string, LivePolicy>();
    const selecting = [...policies.values()]
      .filter(({ selected }) => selected.has(pod.key))
      .map(({ policy }) => policy);
    const rules = rulesOf(selecting);
    for (const address of addresses) this.#setRules(address, rules);
  }

  #setRules(address: string, rules: PodRules | undefined): void {
    if (rules === undefined) this.#podRules.delete(address);
    else this.#podRules.set(address, rules);
    this.#changedPods.add(address);
  }
}

function entryOf<K, V>(map: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const present = map.get(key);
  if (present !== undefined) return present;
  const made = new Map<string, V>();
  map.set(key, made);
  return made;
}
