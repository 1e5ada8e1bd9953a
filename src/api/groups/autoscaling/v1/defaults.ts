// Defaults of autoscaling/v1.

import type { Defaulters } from '#api/machinery/scheme.ts';
import { DEFAULT_CPU_UTILIZATION } from '../v2/defaults.ts';
import { carriesMetrics, setCarriedAnnotations } from './conversion.ts';
import type { HorizontalPodAutoscaler } from './types.ts';

export function setHorizontalPodAutoscalerDefaults(autoscaler: HorizontalPodAutoscaler): void {
  const { metadata, spec } = autoscaler;
  spec.minReplicas ??= 1;
  if (spec.targetCPUUtilizationPercentage === undefined && !carriesMetrics(metadata.annotations)) {
    spec.targetCPUUtilizationPercentage = DEFAULT_CPU_UTILIZATION;
  }
  setCarriedAnnotations(autoscaler);
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  HorizontalPodAutoscaler: setHorizontalPodAutoscalerDefaults,
};
