// Cluster events for the scheduling queue, and the events for which plugins register because they
// may help a rejected pod.

import type { Pod } from './objects.ts';

/** Types of change, one bit each, so that a registration can contain several. */
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
  /** A change of another kind than those above. */
  UpdateOther: 1 << 12,
  UpdateNodeDeclaredFeature: 1 << 13,
} as const;

/** Every update, of any field. */
export const UPDATE = ((1 << 14) - 1) & ~(ActionType.Add | ActionType.Delete);
export const ALL_ACTIONS = (1 << 14) - 1;

/**
 * The changed resource. `AssignedPod` is a pod with a node, `UnscheduledPod` a pod without one; a
 * registration for `Pod` includes both. `*` in a registration includes everything; as an event it
 * moves every pod.
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
  /** Bits of ActionType. An actual event has one of them, or several that happened at once. */
  readonly action: number;
  /** The name for logs and metrics. */
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
/** Moves all pods, whichever plugins rejected them. */
export const unschedulableTimeout = clusterEvent('*', ALL_ACTIONS, 'UnschedulableTimeout');
export const forceActivate = clusterEvent('*', ALL_ACTIONS, 'ForceActivate');

export function isWildcard(event: ClusterEvent): boolean {
  return event.resource === '*';
}

/** Reports whether the event `event` matches the registration `registered`. */
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
 * Returns whether the event may make this pod schedulable. If the hint throws, the pod is queued,
 * so that it is not lost.
 */
export type QueueingHint = (pod: Pod, objects: EventObjects) => boolean;

export interface ClusterEventWithHint {
  readonly event: ClusterEvent;
  /** Absent: every matching event may help. */
  readonly hint?: QueueingHint;
}
