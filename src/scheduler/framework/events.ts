// Changes in the cluster as the scheduling queue sees them, and how plugins say which of them may
// help a pod that they refused.

import type { Pod } from './objects.ts';

/** Kinds of change, one bit each, so that a registration can name several. */
export const ActionType = {
  Add: 1,
  Delete: 1 << 1,
  UpdateNodeAllocatable: 1 << 2,
  UpdateNodeLabel: 1 << 3,
  UpdateNodeTaint: 1 << 4,
  UpdateNodeCondition: 1 << 5,
  UpdateNodeAnnotation: 1 << 6,
  UpdatePodLabel: 1 << 7,
  UpdatePodScaleDown: 1 << 8,
  UpdatePodToleration: 1 << 9,
  UpdatePodSchedulingGatesEliminated: 1 << 10,
  UpdatePodGeneratedResourceClaim: 1 << 11,
  /** A change that none of the above names. */
  UpdateOther: 1 << 12,
  UpdateNodeDeclaredFeature: 1 << 13,
} as const;

/** Every update, whatever changed. */
export const UPDATE = ((1 << 14) - 1) & ~(ActionType.Add | ActionType.Delete);
export const ALL_ACTIONS = (1 << 14) - 1;

/**
 * What changed. `AssignedPod` is a pod that has a node, `UnscheduledPod` one that waits for one; a
 * registration for `Pod` covers both. `*` in a registration covers everything; as an event it moves
 * every pod.
 */
export type EventResource =
  | 'Pod'
  | 'AssignedPod'
  | 'UnscheduledPod'
  | 'Node'
  | 'Namespace'
  | 'PersistentVolume'
  | 'PersistentVolumeClaim'
  | 'StorageClass'
  | 'CSINode'
  | 'CSIDriver'
  | 'CSIStorageCapacity'
  | 'VolumeAttachment'
  | 'ResourceClaim'
  | 'ResourceSlice'
  | 'DeviceClass'
  | '*';

export interface ClusterEvent {
  readonly resource: EventResource;
  /** Bits of ActionType. An event that happened has one of them, or a few that happened at once. */
  readonly action: number;
  /** For logs. */
  readonly label: string;
}

export function clusterEvent(resource: EventResource, action: number, label: string): ClusterEvent {
  return { resource, action, label };
}

export const nodeAdd = clusterEvent('Node', ActionType.Add, 'NodeAdd');
export const nodeDelete = clusterEvent('Node', ActionType.Delete, 'NodeDelete');
export const assignedPodAdd = clusterEvent('AssignedPod', ActionType.Add, 'AssignedPodAdd');
export const assignedPodDelete = clusterEvent(
  'AssignedPod',
  ActionType.Delete,
  'AssignedPodDelete',
);
/** Moves pods whatever refused them. */
export const unschedulableTimeout = clusterEvent('*', ALL_ACTIONS, 'UnschedulableTimeout');
export const forceActivate = clusterEvent('*', ALL_ACTIONS, 'ForceActivate');

export function isWildcard(event: ClusterEvent): boolean {
  return event.resource === '*';
}

/** Whether something that registered for `registered` wants to hear of `event`. */
export function matchesEvent(registered: ClusterEvent, event: ClusterEvent): boolean {
  if (isWildcard(event)) return isWildcard(registered);
  if ((registered.action & event.action) === 0) return false;
  return (
    registered.resource === event.resource ||
    registered.resource === '*' ||
    (registered.resource === 'Pod' &&
      (event.resource === 'AssignedPod' || event.resource === 'UnscheduledPod'))
  );
}

/**
 * The objects of an event: the one before (absent for an addition) and the one after (absent for a
 * deletion).
 */
export interface EventObjects {
  readonly before?: unknown;
  readonly after?: unknown;
}

/**
 * True: the event may make this pod schedulable. If it throws, the pod is queued, rather than lost.
 */
export type QueueingHint = (pod: Pod, objects: EventObjects) => boolean;

export interface ClusterEventWithHint {
  readonly event: ClusterEvent;
  /** Absent: every such event may help. */
  readonly hint?: QueueingHint;
}
