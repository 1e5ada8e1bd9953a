// Events that may help a pod that PodTopologySpread has rejected.

import {
  ActionType,
  clusterEvent,
  type ClusterEventWithHint,
  type QueueingHint,
} from '#scheduler/framework/events.ts';
import type { Node, Pod } from '#scheduler/framework/objects.ts';
import { concernsPod, nodesOf, podsOf } from '../hints.ts';
import { topologyValue } from '../topology/labels.ts';
import { countsFor, hasAllTopologies, type SpreadConstraint } from './constraints.ts';

/** Returns the events. `hardConstraintsOf`: returns the constraints that keep the pod off nodes. */
export function spreadEvents(
  hardConstraintsOf: (pod: Pod) => readonly SpreadConstraint[],
): readonly ClusterEventWithHint[] {
  // An added pod may raise the minimum of the domains, a removed one makes room; a terminating pod
  // does not count.
  const podActions =
    ActionType.Add | ActionType.Delete | ActionType.UpdatePodLabel | ActionType.UpdateOther;
  const podChange: QueueingHint = (pod, objects) => {
    const { before, after } = podsOf(objects);
    return hardConstraintsOf(pod).some(({ selector }) => {
      const counts = (other: Pod | undefined): boolean =>
        other !== undefined && countsFor(pod.metadata.namespace, selector, other);
      return counts(before) !== counts(after);
    });
  };

  const nodeActions =
    ActionType.Add | ActionType.Delete | ActionType.UpdateNodeLabel | ActionType.UpdateNodeTaint;
  const nodeChange: QueueingHint = (pod, objects) => {
    const { before, after } = nodesOf(objects);
    const constraints = hardConstraintsOf(pod);
    const counted = (node: Node | undefined): boolean =>
      node !== undefined && hasAllTopologies(node, constraints);
    if (counted(before) !== counted(after)) return true;
    if (!counted(after)) return false;
    const moved = constraints.some(
      ({ topologyKey }) => topologyValue(before, topologyKey) !== topologyValue(after, topologyKey),
    );
    // Whether a domain is counted may depend on other labels and on taints.
    return (
      moved ||
      before?.metadata.labels !== after?.metadata.labels ||
      before?.spec.taints !== after?.spec.taints
    );
  };

  return [
    { event: clusterEvent('AssignedPod', podActions, 'AssignedPod'), hint: podChange },
    {
      event: clusterEvent(
        'UnscheduledPod',
        ActionType.UpdatePodLabel | ActionType.UpdatePodToleration,
        'Pod',
      ),
      hint: concernsPod,
    },
    { event: clusterEvent('Node', nodeActions, 'Node'), hint: nodeChange },
  ];
}
