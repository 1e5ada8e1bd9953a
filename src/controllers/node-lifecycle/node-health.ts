// Heartbeats of nodes, and the conditions of a node whose heartbeats have stopped.

import type { Node, NodeCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ReadNode = Immutable<Node>;
type Condition = Immutable<NodeCondition>;

/** The latest heartbeat of one node. */
export interface Heartbeat {
  readonly uid: string;
  /**
   * When the heartbeat was observed, on the controller's monotonic clock. Clocks of different
   * machines are never compared.
   */
  readonly seenAtMs: number;
  /**
   * The lastHeartbeatTime of the Ready condition, and the renewTime of the lease. A change of
   * either is a heartbeat.
   */
  readonly statusHeartbeat: string | undefined;
  readonly leaseRenewal: string | undefined;
}

/**
 * Returns the heartbeat after an observation of the node and its lease: `before`, or a new one at
 * `nowMs`.
 */
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

/**
 * Returns the conditions of a node without heartbeats. Returns the array that the node has if they
 * are Unknown already.
 */
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
