// Reads what the usage of an object depends on beyond the object. Only claims for devices depend on
// other objects: on the device classes, and on the pod for which the scheduler made a claim.

import type { Pod } from '#api/groups/core/v1/index.ts';
import {
  DEVICE_CLAIMS,
  extendedResourcesOf,
  factsAt,
  podRefOf,
  type QuotaFacts,
} from '#api/groups/core/v1/quota/index.ts';
import type { DeviceClass, ResourceClaim } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionServices } from '../services.ts';
import type { AdmissionAttributes } from '../plugin.ts';

export type FactSources = Pick<AdmissionServices, 'find' | 'findAll' | 'clock'>;

export async function factsFor(
  { find, findAll, clock }: FactSources,
  { resource, object, namespace }: AdmissionAttributes,
): Promise<QuotaFacts> {
  const base = factsAt(clock.now());
  const { group } = DEVICE_CLAIMS;
  if (resource.group !== group || resource.resource !== DEVICE_CLAIMS.resource) return base;
  const classes = await findAll<Immutable<DeviceClass>>(group, 'deviceclasses', '');
  const facts = { ...base, extendedResources: extendedResourcesOf(classes) };
  const owner =
    object === undefined ? undefined : podRefOf(object as unknown as Immutable<ResourceClaim>);
  if (owner === undefined) return facts;
  const [pod, claims] = await Promise.all([
    find<Immutable<Pod>>('', 'pods', namespace, owner.name),
    findAll<Immutable<ResourceClaim>>(group, DEVICE_CLAIMS.resource, namespace),
  ]);
  return { ...facts, pod: () => pod, claims: () => claims };
}
