// Defaults of autoscalers in their first version.

import type { Defaulters } from '#api/machinery/scheme.ts';
import { DEFAULT_CPU_UTILIZATION } from '../v2/defaults.ts';
import { carriesMetrics } from './conversion.ts';
import type { HorizontalPodAutoscaler } from './types.ts';

export function setHorizontalPodAutoscalerDefaults({
  metadata,
  spec,
}: HorizontalPodAutoscaler): void {
  spec.minReplicas ??= 1;
  if (spec.targetCPUUtilizationPercentage === undefined && !carriesMetrics(metadata.annotations)) {
    spec.targetCPUUtilizationPercentage = DEFAULT_CPU_UTILIZATION;
  }
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  HorizontalPodAutoscaler: setHorizontalPodAutoscalerDefaults,
};
