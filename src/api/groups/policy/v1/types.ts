// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** The pods and the bound. Either minAvailable or maxUnavailable is set. */
export interface PodDisruptionBudgetSpec {
  /** How many of the pods must stay available: a number or a percentage. */
  minAvailable?: number | string;
  /** Selects the pods. Empty: all pods of the namespace. */
  selector?: meta.LabelSelector;
  /** How many of the pods may be unavailable: a number or a percentage. */
  maxUnavailable?: number | string;
  /** Which pods that are not ready may be evicted: IfHealthyBudget or AlwaysAllow. Default: IfHealthyBudget. */
  unhealthyPodEvictionPolicy?: UnhealthyPodEvictionPolicyType;
}

export type UnhealthyPodEvictionPolicyType = 'IfHealthyBudget' | 'AlwaysAllow';

/** The observed state of a budget. */
export interface PodDisruptionBudgetStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** Pods whose eviction was allowed and that are not being deleted yet, with the time. */
  disruptedPods?: Record<string, string>;
  /** How many evictions are allowed now. */
  disruptionsAllowed: number;
  /** The number of ready pods. */
  currentHealthy: number;
  /** The number of pods that must be ready. */
  desiredHealthy: number;
  /** The number of pods that the budget counts with. */
  expectedPods: number;
  /** Whether disruptions are allowed. */
  conditions?: meta.Condition[];
}

/** How many pods of a set may be evicted at the same time. */
export interface PodDisruptionBudget extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: PodDisruptionBudgetSpec;
  /** The observed state. */
  status: PodDisruptionBudgetStatus;
}

/** A list of PodDisruptionBudget objects. */
export interface PodDisruptionBudgetList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PodDisruptionBudget[];
}

/** A request to evict a pod, if its disruption budgets allow it. */
export interface Eviction extends meta.TypeMeta {
  /** The name and namespace of the pod. */
  metadata: meta.ObjectMeta;
  /** Options of the deletion. */
  deleteOptions?: meta.DeleteOptions;
}
