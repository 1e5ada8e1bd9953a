// The resource resourceclaims.

import { resourceClaims } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import {
  deviceKey,
  validateResourceClaim,
  validateResourceClaimStatus,
  validateResourceClaimUpdate,
} from '#api/groups/resource/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { resourceClaimTable } from '#apiserver/printers/devices.ts';
import type { Find } from '#apiserver/catalog/find.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { authorizeAdminAccess, REQUESTS, RESULTS } from './admin-access.ts';

type ResourceClaim = Immutable<resource.ResourceClaim>;
const KIND = { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceClaim' };

export const resourceClaimStrategy = (find: Find): ResourceStrategy<ResourceClaim> => ({
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  prepareForCreate: (claim) => ({ ...claim, status: {} }),
  reserveForCreate: (claim) =>
    authorizeAdminAccess(
      find,
      KIND,
      claim,
      (claim.spec.devices.requests ?? []).map(({ exactly }) => exactly),
      REQUESTS,
      () => validateResourceClaim(claim),
    ),
  validate: (claim) => validateResourceClaim(claim),
  prepareForUpdate: (claim, old) => ({ ...claim, status: old.status }),
  validateUpdate: (claim, old) => validateResourceClaimUpdate(claim, old),
});

export const resourceClaimStatusStrategy = (find: Find): SubresourceStrategy<ResourceClaim> => ({
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (claim, old) => withoutFreedDevices({ ...withMetadataForStatus(claim, old), spec: old.spec }, old),
  reserveForUpdate: (claim, old) => {
    const { results: before = [] } = old.status.allocation?.devices ?? {};
    const { results = [] } = claim.status.allocation?.devices ?? {};
    const wasGranted = before.some(({ adminAccess }) => adminAccess === true);
    const asking = wasGranted ? [] : results;
    return authorizeAdminAccess(find, KIND, claim, asking, RESULTS, () => validateResourceClaimStatus(claim, old));
  },
  validateUpdate: (claim, old) => validateResourceClaimStatus(claim, old),
});

/** What is told of a device goes when the device is given back. */
function withoutFreedDevices(claim: ResourceClaim, old: ResourceClaim): ResourceClaim {
  const { devices, ...status } = claim.status;
  if (devices === undefined) return claim;
  const results = (of: ResourceClaim): readonly string[] => (of.status.allocation?.devices.results ?? []).map(unshared);
  const kept = new Set(results(claim));
  const freed = new Set(results(old).filter((key) => !kept.has(key)));
  const left = devices.filter((device) => !freed.has(unshared(device)));
  return { ...claim, status: { ...status, ...(left.length > 0 && { devices: left }) } };
}

function unshared({ driver, pool, device }: { readonly driver: string; readonly pool: string; readonly device: string }): string {
  return deviceKey({ driver, pool, device });
}

export function resourceClaimResource(services: RegistryServices): Kind {
  const { find } = services;
  const store = new ResourceStore<ResourceClaim>({ ...services, type: resourceClaims, strategy: resourceClaimStrategy(find) });
  return {
    type: resourceClaims,
    rest: store,
    table: resourceClaimTable,
    subresources: [{ name: 'status', kind: KIND, rest: store.view(resourceClaimStatusStrategy(find)) }],
  };
}
