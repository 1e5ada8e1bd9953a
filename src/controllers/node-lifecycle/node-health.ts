// When a node was last heard of, and what its status must say when that is too long ago.

import type { Node, NodeCondition } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';

type ReadNode = Immutable<Node>;
type Condition = Immutable<NodeCondition>;

/** Remembered per node, by UID. */
export interface Heartbeat {
  readonly uid: string;
  /** When a sign of life was last seen, on the monotonic clock of whoever watches: nobody compares two machines' clocks. */
  readonly seenAtMs: number;
  /** What was seen then. */
  readonly statusHeartbeat: string | undefined;
  readonly leaseRenewal: string | undefined;
}

/** The record after a look at the node and its lease. A change in either is a sign of life. */
export function heartbeatAfter(
  before: Heartbeat | undefined,
  node: ReadNode,
  leaseRenewal: string | undefined,
  nowMs: number,
): Heartbeat {
  const statusHeartbeat = readyCondition(node)?.lastHeartbeatTime ?? undefined;
  const same =
    before !== undefined &&
    before.uid === node.metadata.uid &&
    before.statusHeartbeat === statusHeartbeat &&
    before.leaseRenewal === leaseRenewal;
  return same ? before : { uid: node.metadata.uid, seenAtMs: nowMs, statusHeartbeat, leaseRenewal };
}

const WATCHED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

/** The conditions of a node that is not heard of any more; the very array that it has if they say so already. */
export function conditionsOfSilentNode(node: ReadNode, now: string): readonly Condition[] {
  const present = node.status.conditions ?? [];
  let changed = false;
  const next = [...present];
  for (const type of WATCHED) {
    const index = next.findIndex((condition) => condition.type === type);
    const condition = next[index];
    if (condition === undefined) {
      changed = true;
      next.push({
        type,
        status: 'Unknown',
        lastHeartbeatTime: node.metadata.creationTimestamp,
        lastTransitionTime: now,
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
      });
    } else if (condition.status !== 'Unknown') {
      changed = true;
      next[index] = {
        ...condition,
        status: 'Unknown',
        lastTransitionTime: now,
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
      };
    }
  }
  return changed ? next : present;
}

export function readyCondition(node: ReadNode): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === 'Ready');
}
