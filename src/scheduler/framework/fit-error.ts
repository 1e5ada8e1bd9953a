// The message for a pod that fits on no node, as `kubectl describe pod` shows it. The wording is
// upstream's (pkg/scheduler/framework, FitError), because tools parse it.

import type { NodeToStatus } from './node-to-status.ts';
import type { Status } from './status.ts';

export const NO_NODES_AVAILABLE = 'no nodes available to schedule pods';

/** The result for a pod that fits on no node. */
export interface Diagnosis {
  readonly nodeCount: number;
  readonly statuses: NodeToStatus;
  /** The plugins that rejected the pod: events for which they registered requeue it. */
  readonly unschedulablePlugins: ReadonlySet<string>;
  /** The plugins that returned Pending. */
  readonly pendingPlugins: ReadonlySet<string>;
  /** Set if PreFilter rejected the pod for all nodes. */
  readonly preFilterMessage: string;
  /** The message of PostFilter, such as that preemption is not helpful. */
  readonly postFilterMessage: string;
}

/**
 * Returns `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).` and,
 * after a space, PostFilter's message.
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

/** Returns texts such as '2 Insufficient cpu', sorted. */
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

/** Compares by bytes, as Go sorts strings; equal within the basic multilingual plane. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
