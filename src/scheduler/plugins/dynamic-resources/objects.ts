// Device claims, and objects that provide devices, in the form of informers.

import type {
  AllocationResult,
  Device as ApiDevice,
  DeviceClass as ApiDeviceClass,
  DeviceRequestAllocationResult,
  ResourceClaim as ApiResourceClaim,
  ResourceSlice as ApiResourceSlice,
} from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Pod } from '#scheduler/framework/objects.ts';

export type ResourceClaim = Immutable<ApiResourceClaim>;
export type DeviceClass = Immutable<ApiDeviceClass>;
export type ResourceSlice = Immutable<ApiResourceSlice>;
export type Device = Immutable<ApiDevice>;
export type Allocation = Immutable<AllocationResult>;
export type AllocatedDevice = Immutable<DeviceRequestAllocationResult>;

/** Returns a unique key of the device in the cluster. */
export function deviceKey({
  driver,
  pool,
  device,
}: {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}): string {
  return `${driver}/${pool}/${device}`;
}

export function claimText({ metadata }: ResourceClaim): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/** The number of pods that can use a claim at the same time. */
const MAX_RESERVED = 256;

export function isReservedFor(claim: ResourceClaim, pod: Pod): boolean {
  return claim.status.reservedFor?.some(({ uid }) => uid === pod.metadata.uid) === true;
}

export function canBeReserved({ status }: ResourceClaim): boolean {
  return (status.reservedFor?.length ?? 0) < MAX_RESERVED;
}

/**
 * Returns the pod's claims, or the reason why one does not exist yet. `get`: returns a claim by
 * 'namespace/name'. A claim that the pod does not need is left out.
 */
export function claimsOfPod(
  pod: Pod,
  get: (key: string) => ResourceClaim | undefined,
): readonly ResourceClaim[] | string {
  const { namespace = '', name: podName = '' } = pod.metadata;
  const claims: ResourceClaim[] = [];
  for (const { name, resourceClaimName, resourceClaimTemplateName } of pod.spec.resourceClaims ??
    []) {
    let claimName = resourceClaimName;
    if (claimName === undefined) {
      if (resourceClaimTemplateName === undefined) {
        return (
          `pod ${quote(`${namespace}/${podName}`)}, spec.resourceClaim ${quote(name)}: none of ` +
          'the supported fields are set'
        );
      }
      const made = pod.status.resourceClaimStatuses?.find((status) => status.name === name);
      if (made === undefined)
        return `pod ${quote(`${namespace}/${podName}`)}: ResourceClaim not created yet`;
      if (made.resourceClaimName === undefined) continue;
      claimName = made.resourceClaimName;
    }
    const claim = get(`${namespace}/${claimName}`);
    if (claim === undefined) return `resourceclaim.resource.k8s.io ${quote(claimName)} not found`;
    if (claim.metadata.deletionTimestamp !== undefined)
      return `resourceclaim ${quote(claimName)} is being deleted`;
    const owners = claim.metadata.ownerReferences ?? [];
    if (
      resourceClaimName === undefined &&
      !owners.some(({ controller, uid }) => controller === true && uid === pod.metadata.uid)
    ) {
      return `ResourceClaim ${claimText(claim)} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    }
    claims.push(claim);
  }
  return claims;
}
