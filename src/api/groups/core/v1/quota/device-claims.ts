// The usage of claims for devices: the devices of each class, and the same devices as extended
// resources. A claim that the scheduler made for the extended resources of a pod counts for these
// only with what the pod itself does not count: a device that init containers have of their own.

import { newQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ExactDeviceRequest, ResourceClaim } from '#api/groups/resource/v1/index.ts';
import { addAmounts, type Amounts } from './amounts.ts';
import {
  countName,
  createsOrUpdates,
  type GroupResource,
  ONE,
  type QuotaEvaluator,
  type QuotaFacts,
} from './evaluator.ts';
import { extendedLimitsOf, isExtendedLimit, isLimitOfClass } from './extended-resources.ts';
import { podUsage } from './pods.ts';

type ReadClaim = Immutable<ResourceClaim>;
type OwnerReference = NonNullable<ReadClaim['metadata']['ownerReferences']>[number];

export const DEVICE_CLAIMS: GroupResource = {
  group: 'resource.k8s.io',
  resource: 'resourceclaims',
};
const OF_CLASS = '.deviceclass.resource.k8s.io/devices';
/** The maximum number of devices of a claim. A claim for all devices is charged for this many. */
const MOST_DEVICES = 32;
const EXTENDED_RESOURCE_CLAIM = 'resource.kubernetes.io/extended-resource-claim';

export const deviceClaimEvaluator: QuotaEvaluator = {
  tracks: (name, extendedResources) =>
    name === countName(DEVICE_CLAIMS) ||
    name.endsWith(OF_CLASS) ||
    isLimitOfClass(name, extendedResources),
  usage: (object, facts) => claimUsage(object as ReadClaim, facts),
  handles: createsOrUpdates,
};

/** Reports whether the limit may apply to claims for devices, depending on the device classes. */
export const isDeviceLimit = (name: string): boolean =>
  isExtendedLimit(name) || name.endsWith(OF_CLASS);

function claimUsage(claim: ReadClaim, facts: QuotaFacts): Amounts {
  const devices = devicesByClass(claim);
  const extended = new Map<string, Quantity>();
  for (const [className, count] of devices) {
    for (const limit of extendedLimitsOf(className, facts.extendedResources))
      extended.set(limit, extended.get(limit)?.add(count) ?? count);
  }
  const countedByPod = usageOfPod(claim, facts);
  for (const [limit, amount] of extended) {
    const rest = amount.sub(countedByPod.get(limit) ?? newQuantity(0, 'DecimalSI'));
    if (rest.sign() > 0) extended.set(limit, rest);
    else extended.delete(limit);
  }
  return new Map([
    [countName(DEVICE_CLAIMS), ONE],
    ...[...devices].map(([className, count]) => [`${className}${OF_CLASS}`, count] as const),
    ...extended,
  ]);
}

type DeviceRequest = Pick<
  Immutable<ExactDeviceRequest>,
  'deviceClassName' | 'allocationMode' | 'count'
>;

function devicesByClass({ spec }: ReadClaim): Amounts {
  let devices: Amounts = new Map();
  for (const { exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
    // One of several alternatives is allocated: each class is charged with its maximum.
    const most = new Map<string, number>();
    for (const request of exactly === undefined ? firstAvailable : [exactly]) {
      const { deviceClassName } = request;
      most.set(deviceClassName, Math.max(most.get(deviceClassName) ?? 0, countOf(request)));
    }
    devices = addAmounts(
      devices,
      new Map([...most].map(([className, count]) => [className, newQuantity(count, 'DecimalSI')])),
    );
  }
  return devices;
}

function countOf({ allocationMode, count = 0 }: DeviceRequest): number {
  if (allocationMode === 'All') return MOST_DEVICES;
  return allocationMode === 'ExactCount' ? count : 0;
}

/** Returns the pod for whose extended resources the scheduler made the claim, if it did. */
export function podRefOf({ metadata }: ReadClaim): OwnerReference | undefined {
  if (metadata.annotations?.[EXTENDED_RESOURCE_CLAIM] !== 'true') return undefined;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner : undefined;
}

/**
 * Returns the usage of the pod for whose extended resources the claim was made. It is empty if the
 * claim is not the one that the pod has: anybody may create a claim with the same owner.
 */
function usageOfPod(claim: ReadClaim, facts: QuotaFacts): Amounts {
  const { namespace = '', name } = claim.metadata;
  const owner = podRefOf(claim);
  const pod = owner === undefined ? undefined : facts.pod(namespace, owner.name);
  if (pod === undefined || pod.metadata.uid !== owner?.uid) return new Map();
  const inStatus = pod.status.extendedResourceClaimStatus;
  const isOfPod =
    inStatus === undefined
      ? facts
          .claims(namespace)
          .every((other) => podRefOf(other)?.uid !== owner.uid || !goesBefore(other, claim))
      : inStatus.resourceClaimName === name;
  return isOfPod ? podUsage(pod, facts.nowMs) : new Map();
}

/** Reports whether `a` is the pod's claim if both are made for it and its status names neither. */
function goesBefore({ metadata: a }: ReadClaim, { metadata: b }: ReadClaim): boolean {
  const [first, second] = [createdMs(a), createdMs(b)];
  return first === second ? a.name < b.name : first < second;
}

/** Returns infinity for a claim that is not stored yet. */
function createdMs({ creationTimestamp }: ReadClaim['metadata']): number {
  const ms = Date.parse(creationTimestamp);
  return Number.isNaN(ms) ? Infinity : ms;
}
