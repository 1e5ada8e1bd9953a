// Why a pod fits no node, in the words that `kubectl describe pod` shows. The wording is
// Kubernetes' own (pkg/scheduler/framework, FitError): tools read it.

import type { NodeToStatus } from './node-to-status.ts';
import type { Status } from './status.ts';

export const NO_NODES_AVAILABLE = 'no nodes available to schedule pods';

/** The result for a pod that fits on no node. */
export interface Diagnosis {
  readonly nodeCount: number;
  readonly statuses: NodeToStatus;
  /**
   * The plugins that refused the pod, so that an event of interest to one of them brings it back.
   */
  readonly unschedulablePlugins: ReadonlySet<string>;
  /** The plugins that returned Pending. */
  readonly pendingPlugins: ReadonlySet<string>;
  /** Set if PreFilter refused the pod whatever the node. */
  readonly preFilterMessage: string;
  /** The message of PostFilter, such as that preemption is not helpful. */
  readonly postFilterMessage: string;
}

/**
 * `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).` and, after a
 * space, PostFilter's message.
 */
export function fitErrorMessage(diagnosis: Diagnosis): string {
  const { nodeCount, preFilterMessage, postFilterMessage } = diagnosis;
  let message = `0/${nodeCount} nodes are available:`;
  if (preFilterMessage !== '') {
    message += ` ${preFilterMessage}.`;
  } else {
    const reasons = reasonHistogram(diagnosis);
    if (reasons.length > 0) message += ` ${reasons.join(', ')}.`;
  }
  if (postFilterMessage !== '') message += ` ${postFilterMessage}`;
  return message;
}

/** '2 Insufficient cpu', in the order of the texts. */
function reasonHistogram(diagnosis: Diagnosis): string[] {
  const counts = new Map<string, number>();
  const count = (status: Status, times: number): void => {
    for (const reason of status.reasons) counts.set(reason, (counts.get(reason) ?? 0) + times);
  };
  for (const [status, times] of diagnosis.statuses.counts()) count(status, times);
  const { absent, size } = diagnosis.statuses;
  if (absent !== undefined && size < diagnosis.nodeCount) count(absent, diagnosis.nodeCount - size);
  return Array.from(counts, ([reason, times]) => `${times} ${reason}`).sort(byBytes);
}

/** Go sorts strings by their bytes; so does this, as long as they are within the basic plane. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
