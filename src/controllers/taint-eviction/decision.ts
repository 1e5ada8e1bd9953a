// Decides how long a pod may stay on a node, from the node's NoExecute taints and the pod's
// tolerations.

import { type ReadTaint, type ReadToleration, toleratesTaint } from '../taints.ts';

export type Stay =
  | { readonly kind: 'forever' }
  /** The pod must be evicted at once. */
  | { readonly kind: 'evict' }
  /** The pod may stay for this time after the taint was first seen. */
  | { readonly kind: 'limited'; readonly seconds: number };

/** Returns how long the pod may stay. Only NoExecute taints count. */
export function mayStay(
  taints: readonly ReadTaint[],
  tolerations: readonly ReadToleration[],
): Stay {
  let seconds: number | undefined;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    const fitting = tolerations.filter((toleration) => toleratesTaint(toleration, taint));
    // If several tolerations match a taint, the first one decides, as upstream.
    const [first] = fitting;
    if (first === undefined) return { kind: 'evict' };
    if (first.tolerationSeconds === undefined) continue;
    const limit = Math.max(0, first.tolerationSeconds);
    if (seconds === undefined || limit < seconds) seconds = limit;
  }
  if (seconds === undefined) return { kind: 'forever' };
  return seconds === 0 ? { kind: 'evict' } : { kind: 'limited', seconds };
}
