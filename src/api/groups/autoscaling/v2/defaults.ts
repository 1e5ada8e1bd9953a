// Defaults of autoscalers, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh draft,
// straight from the decoder.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type {
  HorizontalPodAutoscaler,
  HPAScalingPolicy,
  HPAScalingRules,
  MetricSpec,
} from './types.ts';

export const DEFAULT_CPU_UTILIZATION = 80;

export function setHorizontalPodAutoscalerDefaults({ spec }: HorizontalPodAutoscaler): void {
  spec.minReplicas ??= 1;
  if ((spec.metrics ?? []).length === 0) spec.metrics = [defaultMetric()];
  if (spec.behavior === undefined) return;
  spec.behavior.scaleUp = { ...scaleUpRules(), ...spec.behavior.scaleUp };
  spec.behavior.scaleDown = { ...scaleDownRules(), ...spec.behavior.scaleDown };
}

export function defaultMetric(): MetricSpec {
  return {
    type: 'Resource',
    resource: {
      name: 'cpu',
      target: { type: 'Utilization', averageUtilization: DEFAULT_CPU_UTILIZATION },
    },
  };
}

type Rules = HPAScalingRules & { policies: HPAScalingPolicy[] };

/** What holds where an autoscaler does not say how it grows. */
export function scaleUpRules(): Rules {
  return {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ],
  };
}

/** What holds where it does not say how it shrinks. The window is the controller's. */
export function scaleDownRules(): Rules {
  return { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  HorizontalPodAutoscaler: setHorizontalPodAutoscalerDefaults,
};
