// Defaults of autoscalers in their first version. Their metric is filled in when they are converted, for only then it is known
// whether annotations have others.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { HorizontalPodAutoscaler } from './types.ts';

export function setHorizontalPodAutoscalerDefaults({ spec }: HorizontalPodAutoscaler): void {
  spec.minReplicas ??= 1;
}

/** Of each kind that has any. */
export const defaulters: Defaulters = {
  HorizontalPodAutoscaler: setHorizontalPodAutoscalerDefaults,
};
