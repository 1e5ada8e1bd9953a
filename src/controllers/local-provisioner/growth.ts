// Expands a claim and its volume. A directory is limited only by its disk, so expansion changes
// nothing but the recorded sizes.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { requestedSize, sizeOf } from '../persistent-volume/matching.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;

const RESOURCE = 'storage';

/**
 * Reports whether the claim requests more than it has. `volume`: the volume that it is bound to.
 */
export function wantsToGrow(claim: ReadClaim, volume: ReadVolume): boolean {
  if (claim.status.phase !== 'Bound' || volume.spec.claimRef?.uid !== claim.metadata.uid)
    return false;
  return requestedSize(claim).cmp(statusSize(claim)) > 0;
}

/** Returns the expanded volume; the same object if it is large enough. */
export function grownVolume(volume: ReadVolume, claim: ReadClaim): ReadVolume {
  if (sizeOf(volume).cmp(requestedSize(claim)) >= 0) return volume;
  const storage = claim.spec.resources.requests?.[RESOURCE] ?? '0';
  return {
    ...volume,
    spec: { ...volume.spec, capacity: { ...volume.spec.capacity, [RESOURCE]: storage } },
  };
}

/** Returns the claim with the condition Resizing; the same object if it has the condition. */
export function growingClaim(claim: ReadClaim, now: string): ReadClaim {
  const { conditions = [], allocatedResources, allocatedResourceStatuses } = claim.status;
  if (conditions.some(({ type, status }) => type === 'Resizing' && status === 'True')) return claim;
  const others = conditions.filter(({ type }) => type !== 'Resizing');
  const storage = claim.spec.resources.requests?.[RESOURCE] ?? '0';
  return {
    ...claim,
    status: {
      ...claim.status,
      allocatedResources: { ...allocatedResources, [RESOURCE]: storage },
      allocatedResourceStatuses: {
        ...allocatedResourceStatuses,
        [RESOURCE]: 'ControllerResizeInProgress',
      },
      conditions: [
        ...others,
        { type: 'Resizing', status: 'True', lastProbeTime: null, lastTransitionTime: now },
      ],
    },
  };
}

export function grownClaim(claim: ReadClaim, volume: ReadVolume): ReadClaim {
  const { conditions = [], capacity, allocatedResourceStatuses, ...status } = claim.status;
  const { [RESOURCE]: _, ...statuses } = allocatedResourceStatuses ?? {};
  const left = conditions.filter(
    ({ type }) => type !== 'Resizing' && type !== 'FileSystemResizePending',
  );
  return {
    ...claim,
    status: {
      ...status,
      capacity: { ...capacity, [RESOURCE]: volume.spec.capacity?.[RESOURCE] ?? '0' },
      ...(Object.keys(statuses).length > 0 && { allocatedResourceStatuses: statuses }),
      ...(left.length > 0 && { conditions: left }),
    },
  };
}

function statusSize({ status }: ReadClaim) {
  return parseQuantity(status.capacity?.[RESOURCE] ?? '0');
}
