// Events that may help a pod that DynamicResources has rejected.

import { semanticEqual } from '#machinery/deep.ts';
import {
  ActionType,
  clusterEvent,
  type ClusterEventWithHint,
  type QueueingHint,
  UPDATE,
} from '#scheduler/framework/events.ts';
import { concernsPod, podsOf } from '../hints.ts';
import { isExtendedClaimOf } from './extended-claim.ts';
import { claimsOfPod, type ResourceClaim } from './objects.ts';

/** Returns the events. `get`: returns a claim by namespace/name. */
export function claimEvents(
  get: (key: string) => ResourceClaim | undefined,
): readonly ClusterEventWithHint[] {
  const claimChanged: QueueingHint = (pod, objects) => {
    const [before, after] = [
      objects.before as ResourceClaim | undefined,
      objects.after as ResourceClaim | undefined,
    ];
    // The devices of the claim are free.
    if (before?.status.allocation !== undefined && after?.status.allocation === undefined)
      return true;
    // The claim of an earlier attempt is gone.
    if (before !== undefined && after === undefined && isExtendedClaimOf(before, pod)) return true;
    const claims = claimsOfPod(pod, get);
    if (typeof claims === 'string' || after === undefined) return false;
    if (!claims.some(({ metadata }) => metadata.uid === after.metadata.uid)) return false;
    return before === undefined || !semanticEqual(before.status, after.status);
  };
  const podChanged: QueueingHint = (pod, objects) =>
    concernsPod(pod, objects) && typeof claimsOfPod(podsOf(objects).after ?? pod, get) !== 'string';
  /** The pending allocation of the deleted pod is released. */
  const podGone: QueueingHint = (_pod, objects) =>
    (podsOf(objects).before?.spec.resourceClaims?.length ?? 0) > 0;
  return [
    {
      event: clusterEvent(
        'ResourceClaim',
        ActionType.Add | UPDATE | ActionType.Delete,
        'ResourceClaim',
      ),
      hint: claimChanged,
    },
    {
      event: clusterEvent(
        'UnscheduledPod',
        ActionType.UpdatePodGeneratedResourceClaim,
        'PodUpdate',
      ),
      hint: podChanged,
    },
    { event: clusterEvent('AssignedPod', ActionType.Delete, 'AssignedPodDelete'), hint: podGone },
    { event: clusterEvent('DeviceClass', ActionType.Add | UPDATE, 'DeviceClass') },
    { event: clusterEvent('ResourceSlice', ActionType.Add | UPDATE, 'ResourceSlice') },
    { event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeLabel, 'Node') },
  ];
}
