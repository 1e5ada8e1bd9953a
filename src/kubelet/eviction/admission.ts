// Admission of pods while the node is under pressure.

import { qosClass } from '../pod/resources.ts';
import { tolerates } from '../tolerations.ts';
import type { Pod } from '../types.ts';
import { isCriticalPod } from './critical.ts';
import type { PressureCondition } from './signals.ts';

/** The reason of pods that are evicted or rejected because of pressure. */
export const EVICTED = 'Evicted';

const MEMORY_PRESSURE_TAINT = {
  key: 'node.kubernetes.io/memory-pressure',
  effect: 'NoSchedule',
} as const;

/**
 * Returns the rejection of a pod; undefined if it may run. Under memory pressure alone, only
 * BestEffort pods that do not tolerate it are rejected; under other pressure all but critical pods
 * are.
 */
export function admitUnderPressure(
  pod: Pod,
  conditions: readonly PressureCondition[],
): { readonly reason: string; readonly message: string } | undefined {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (qosClass(pod) !== 'BestEffort') return undefined;
    if ((pod.spec.tolerations ?? []).some((each) => tolerates(each, MEMORY_PRESSURE_TAINT)))
      return undefined;
  }
  return { reason: EVICTED, message: `The node had condition: [${conditions.join(' ')}]. ` };
}
