// Pods that the node needs: they are never evicted, and may preempt others.

import { isMirrorPod } from '../static-pods/mirror-pods.ts';
import { isStaticPod } from '../static-pods/static-pods.ts';
import type { Pod } from '../types.ts';

/** The lowest priority of critical pods: that of the class system-cluster-critical. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

export function isCriticalPod(pod: Pod): boolean {
  return (
    isStaticPod(pod) ||
    isMirrorPod(pod) ||
    (pod.spec.priority !== undefined && pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY)
  );
}
