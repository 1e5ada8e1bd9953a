// Compares two versions of a node or pod, in the fields that scheduling reads.

import type { NodeCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { ActionType, clusterEvent, type ClusterEvent } from './events.ts';
import type { Node, Pod } from './objects.ts';
import type { PodInfo } from './pod-info.ts';

/**
 * Returns the change of a node as one event; undefined if scheduling reads none of the changed
 * fields.
 */
export function nodeUpdateEvent(before: Node, after: Node): ClusterEvent | undefined {
  let action = 0;
  if (!semanticEqual(before.status.allocatable, after.status.allocatable))
    action |= ActionType.UpdateNodeAllocatable;
  if (!semanticEqual(before.metadata.labels, after.metadata.labels))
    action |= ActionType.UpdateNodeLabel;
  // An unschedulable node acts like a node with a taint.
  const uncordoned = before.spec.unschedulable === true && after.spec.unschedulable !== true;
  if (uncordoned || !semanticEqual(before.spec.taints, after.spec.taints))
    action |= ActionType.UpdateNodeTaint;
  if (!sameConditions(before.status.conditions, after.status.conditions))
    action |= ActionType.UpdateNodeCondition;
  if (!semanticEqual(before.metadata.annotations, after.metadata.annotations))
    action |= ActionType.UpdateNodeAnnotation;
  if (!semanticEqual(before.status.declaredFeatures, after.status.declaredFeatures)) {
    action |= ActionType.UpdateNodeDeclaredFeature;
  }
  return action === 0 ? undefined : clusterEvent('Node', action, 'NodeUpdate');
}

/**
 * Reports whether both versions of a node count the same: NodeInfo.setNode would compute equal
 * values.
 */
export function offersTheSame(before: Node, after: Node): boolean {
  return (
    semanticEqual(before.status.allocatable, after.status.allocatable) &&
    semanticEqual(before.spec.taints, after.spec.taints) &&
    semanticEqual(before.status.images, after.status.images) &&
    semanticEqual(before.metadata.labels, after.metadata.labels)
  );
}

/**
 * Reports whether both versions of a pod on a node count the same, for the node's remaining
 * resources and for other pods.
 */
export function countsTheSame(before: PodInfo, after: PodInfo): boolean {
  return (
    before.hasAffinity === after.hasAffinity &&
    (!after.hasAffinity || semanticEqual(before.pod.spec.affinity, after.pod.spec.affinity)) &&
    before.priority === after.priority &&
    before.pod.metadata.deletionTimestamp === after.pod.metadata.deletionTimestamp &&
    // Among pods with equal priority, the start time decides the importance.
    before.pod.status.startTime === after.pod.status.startTime &&
    before.nonZeroMilliCpu === after.nonZeroMilliCpu &&
    before.nonZeroMemory === after.nonZeroMemory &&
    before.requests.text() === after.requests.text() &&
    semanticEqual(before.hostPorts, after.hostPorts) &&
    semanticEqual(before.pod.metadata.labels, after.pod.metadata.labels)
  );
}

/**
 * Returns the change of a pod; a change without a specific type is an UpdateOther. Returns
 * undefined if only the status has changed, as when the scheduler writes why the pod waits.
 */
export function podUpdateEvent(before: PodInfo, after: PodInfo): ClusterEvent | undefined {
  let action = 0;
  if (!semanticEqual(before.pod.metadata.labels, after.pod.metadata.labels))
    action |= ActionType.UpdatePodLabel;
  if (asksForLess(before, after)) action |= ActionType.UpdatePodScaleDown;
  if (
    (before.pod.spec.schedulingGates?.length ?? 0) > 0 &&
    (after.pod.spec.schedulingGates?.length ?? 0) === 0
  ) {
    action |= ActionType.UpdatePodSchedulingGatesEliminated;
  }
  if (!semanticEqual(before.pod.spec.tolerations, after.pod.spec.tolerations))
    action |= ActionType.UpdatePodToleration;
  if (
    !semanticEqual(before.pod.status.resourceClaimStatuses, after.pod.status.resourceClaimStatuses)
  ) {
    action |= ActionType.UpdatePodGeneratedResourceClaim;
  }
  if (action === 0 && sameIntention(before.pod, after.pod)) return undefined;
  const resource = after.pod.spec.nodeName ? 'AssignedPod' : 'UnscheduledPod';
  return clusterEvent(resource, action || ActionType.UpdateOther, `${resource}Update`);
}

function sameIntention(before: Pod, after: Pod): boolean {
  return (
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    before.status.nominatedNodeName === after.status.nominatedNodeName &&
    semanticEqual(before.metadata.annotations, after.metadata.annotations) &&
    semanticEqual(before.spec, after.spec)
  );
}

function asksForLess(before: PodInfo, after: PodInfo): boolean {
  const [old, now] = [before.requests, after.requests];
  if (old === now) return false;
  if (
    now.milliCpu < old.milliCpu ||
    now.memory < old.memory ||
    now.ephemeralStorage < old.ephemeralStorage
  )
    return true;
  for (const [name, amount] of old.scalars ?? []) if (now.scalar(name) < amount) return true;
  return false;
}

type Conditions = readonly Immutable<NodeCondition>[] | undefined;

/** Compares conditions by type and status, ignoring heartbeat and transition times. */
function sameConditions(before: Conditions, after: Conditions): boolean {
  const [old, now] = [before ?? [], after ?? []];
  return (
    old.length === now.length &&
    old.every((a) => now.some((b) => b.type === a.type && b.status === a.status))
  );
}
