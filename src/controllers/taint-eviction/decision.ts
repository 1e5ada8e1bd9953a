// How long a pod may stay on a node, given the node's NoExecute taints and the pod's tolerations.

import type { ReadTaint, ReadToleration } from '../taints.ts';
import { toleratesTaint } from '../taints.ts';

export type Stay =
  | { readonly kind: 'forever' }
  /** Not at all. */
  | { readonly kind: 'evict' }
  /** So long from the moment on at which this was first so. */
  | { readonly kind: 'limited'; readonly seconds: number };

/** Other taints than NoExecute do not count. */
export function mayStay(
  taints: readonly ReadTaint[],
  tolerations: readonly ReadToleration[],
): Stay {
  let seconds: number | undefined;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    const fitting = tolerations.filter((toleration) => toleratesTaint(toleration, taint));
    // Several tolerations of one taint: the first decides about it, as in Kubernetes.
    const [first] = fitting;
    if (first === undefined) return { kind: 'evict' };
    if (first.tolerationSeconds === undefined) continue;
    const limit = Math.max(0, first.tolerationSeconds);
    if (seconds === undefined || limit < seconds) seconds = limit;
  }
  if (seconds === undefined) return { kind: 'forever' };
  return seconds === 0 ? { kind: 'evict' } : { kind: 'limited', seconds };
}
