// Heartbeats of nodes, and the conditions of a node whose heartbeats have stopped.

import type { Node, NodeCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { parseTime } from '#machinery/text/time.ts';

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

/**
 * Returns when a pass has seen the renewal of a lease, on the monotonic scale: the first pass after
 * it. This is for leases that the controller gets late, on a virtual clock that it shares with the
 * nodes.
 */
export function passThatSees(
  renewal: string | undefined,
  lastPass: { readonly at: number; readonly periodMs: number } | undefined,
  clock: Clock,
): number {
  const now = clock.monotonic();
  const renewedAt = parseTime(renewal);
  if (lastPass === undefined || renewedAt === undefined) return now;
  const { at, periodMs } = lastPass;
  const since = renewedAt - (clock.now() - Math.floor(now)) - at;
  return Math.min(now, at + (Math.floor(since / periodMs) + 1) * periodMs);
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
