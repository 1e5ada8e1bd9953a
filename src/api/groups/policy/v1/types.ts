// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface PodDisruptionBudgetSpec {
  minAvailable?: number | string;
  selector?: meta.LabelSelector;
  maxUnavailable?: number | string;
  unhealthyPodEvictionPolicy?: UnhealthyPodEvictionPolicyType;
}

export type UnhealthyPodEvictionPolicyType = 'IfHealthyBudget' | 'AlwaysAllow';

export interface PodDisruptionBudgetStatus {
  observedGeneration?: number;
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: meta.Condition[];
}

export interface PodDisruptionBudget extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: PodDisruptionBudgetSpec;
  status: PodDisruptionBudgetStatus;
}

export interface PodDisruptionBudgetList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: PodDisruptionBudget[];
}

export interface Eviction extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  deleteOptions?: meta.DeleteOptions;
}
