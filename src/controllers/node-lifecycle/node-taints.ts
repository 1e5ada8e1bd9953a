// Which taints a node's conditions call for.

import type { Node } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import {
  TAINT_DISK_PRESSURE,
  TAINT_MEMORY_PRESSURE,
  TAINT_NETWORK_UNAVAILABLE,
  TAINT_NOT_READY,
  TAINT_PID_PRESSURE,
  TAINT_UNREACHABLE,
  TAINT_UNSCHEDULABLE,
  matchesTaint,
} from '../taints.ts';
import type { ReadTaint } from '../taints.ts';

type ReadNode = Immutable<Node>;

/** Condition → its status → the taint that keeps new pods away. */
const NO_SCHEDULE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: TAINT_NOT_READY, Unknown: TAINT_UNREACHABLE },
  MemoryPressure: { True: TAINT_MEMORY_PRESSURE },
  DiskPressure: { True: TAINT_DISK_PRESSURE },
  NetworkUnavailable: { True: TAINT_NETWORK_UNAVAILABLE },
  PIDPressure: { True: TAINT_PID_PRESSURE },
};

/** Taints of these are this controller's to add and to take away; all others belong to somebody else. */
const NO_SCHEDULE_KEYS: ReadonlySet<string> = new Set([
  ...Object.values(NO_SCHEDULE).flatMap((byStatus) => Object.values(byStatus)),
  TAINT_UNSCHEDULABLE,
]);

const NO_EXECUTE_KEYS: ReadonlySet<string> = new Set([TAINT_NOT_READY, TAINT_UNREACHABLE]);

export type ReadyStatus = 'True' | 'False' | 'Unknown';

/** A node that has never said is not ready. */
export function readyStatus(node: ReadNode): ReadyStatus {
  switch (node.status.conditions?.find(({ type }) => type === 'Ready')?.status) {
    case 'True':
      return 'True';
    case 'False':
      return 'False';
    default:
      return 'Unknown';
  }
}

/** The key of the NoExecute taint that the node should have; undefined if it is ready. */
export function wantedNoExecute(node: ReadNode): string | undefined {
  switch (readyStatus(node)) {
    case 'True':
      return undefined;
    case 'False':
      return TAINT_NOT_READY;
    case 'Unknown':
      return TAINT_UNREACHABLE;
  }
}

/** What may be done about the pods that run on a node which is not ready. */
export type Eviction =
  /** Taint it so that they are evicted. */
  | 'start'
  /** Not yet: leave such a taint if it is there, add none. */
  | 'hold'
  /** Not at all: something bigger is wrong. Take such a taint away. */
  | 'cancel';

/** The taints that the node should have; undefined if it has them. `now`: a metav1.Time. */
export function wantedTaints(node: ReadNode, eviction: Eviction, now: string): readonly ReadTaint[] | undefined {
  const present = node.spec.taints ?? [];
  const wanted: ReadTaint[] = [];
  for (const { type, status } of node.status.conditions ?? []) {
    const key = NO_SCHEDULE[type]?.[status];
    if (key !== undefined) wanted.push({ key, effect: 'NoSchedule' });
  }
  if (node.spec.unschedulable) wanted.push({ key: TAINT_UNSCHEDULABLE, effect: 'NoSchedule' });
  const noExecute = wantedNoExecute(node);
  const evicting = present.some(({ key, effect }) => effect === 'NoExecute' && NO_EXECUTE_KEYS.has(key));
  // A node that turns from unreachable to not ready changes its taint whatever the rate of evictions is.
  if (noExecute !== undefined && (eviction === 'start' || (eviction === 'hold' && evicting))) {
    wanted.push({ key: noExecute, effect: 'NoExecute', timeAdded: now });
  }
  const kept = present.filter((taint) => !isOurs(taint) || wanted.some((other) => matchesTaint(other, taint)));
  const added = wanted.filter((taint) => !present.some((other) => matchesTaint(other, taint)));
  return added.length === 0 && kept.length === present.length ? undefined : [...kept, ...added];
}

function isOurs({ key, effect }: ReadTaint): boolean {
  return (effect === 'NoSchedule' && NO_SCHEDULE_KEYS.has(key)) || (effect === 'NoExecute' && NO_EXECUTE_KEYS.has(key));
}
