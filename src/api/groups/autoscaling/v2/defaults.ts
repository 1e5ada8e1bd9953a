// Defaults of autoscalers, as Kubernetes documents them. A defaulter may modify its object, which
// was just decoded.

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

/** Returns the default rules for scaling up. */
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

/** Returns the default rules for scaling down. The window is set by the controller. */
export function scaleDownRules(): Rules {
  return { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  HorizontalPodAutoscaler: setHorizontalPodAutoscalerDefaults,
};
