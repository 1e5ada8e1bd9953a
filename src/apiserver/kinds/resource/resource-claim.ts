// The resource resourceclaims.

import { resourceClaims } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import {
  deviceKey,
  validateResourceClaim,
  validateResourceClaimStatus,
  validateResourceClaimUpdate,
} from '#api/groups/resource/v1/validation/index.ts';
import { resourceClaimConversions } from '#api/groups/resource/v1beta1/conversion.ts';
import { resourceClaims as first } from '#api/groups/resource/v1beta1/index.ts';
import { resourceClaims as second } from '#api/groups/resource/v1beta2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind, type KindConfig } from '#apiserver/catalog/define-kind.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import { statusAccessErrors } from './status-access.ts';
import { REQUESTS, RESULTS, authorizeAdminAccess } from './admin-access.ts';
import { betaKinds } from './beta.ts';

type ResourceClaim = Immutable<resource.ResourceClaim>;
const KIND = { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceClaim' };

const resourceClaimStrategy = (find: Find): ResourceStrategy<ResourceClaim> => ({
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

interface ClaimServices {
  readonly find: Find;
  readonly authorizer: Authorizer;
}

const resourceClaimStatusStrategy = ({
  find,
  authorizer,
}: ClaimServices): SubresourceStrategy<ResourceClaim> => ({
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (claim, old) =>
    withoutFreedDevices({ ...withMetadataForStatus(claim, old), spec: old.spec }, old),
  reserveForUpdate: async (claim, old, { request }) => {
    const denied = await statusAccessErrors(authorizer, request, claim, old);
    const validate = (): FieldErrorList => [...denied, ...validateResourceClaimStatus(claim, old)];
    const { results: before = [] } = old.status.allocation?.devices ?? {};
    const { results = [] } = claim.status.allocation?.devices ?? {};
    const wasGranted = before.some(({ adminAccess }) => adminAccess === true);
    const requestingResults = wasGranted ? [] : results;
    const reserved = await authorizeAdminAccess(
      find,
      KIND,
      claim,
      requestingResults,
      RESULTS,
      validate,
    );
    if (denied.length > 0) throw apierrors.invalid(KIND, claim.metadata.name, validate());
    return reserved;
  },
  validateUpdate: (claim, old) => validateResourceClaimStatus(claim, old),
});

/** Returns the claim without the status of devices that are no longer allocated. */
function withoutFreedDevices(claim: ResourceClaim, old: ResourceClaim): ResourceClaim {
  const { devices, ...status } = claim.status;
  if (devices === undefined) return claim;
  const results = (of: ResourceClaim): readonly string[] =>
    (of.status.allocation?.devices.results ?? []).map(unshared);
  const keptKeys = new Set(results(claim));
  const freed = new Set(results(old).filter((key) => !keptKeys.has(key)));
  const remaining = devices.filter((device) => !freed.has(unshared(device)));
  return { ...claim, status: { ...status, ...(remaining.length > 0 && { devices: remaining }) } };
}

function unshared({
  driver,
  pool,
  device,
}: {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}): string {
  return deviceKey({ driver, pool, device });
}

const resourceClaimTable: TableConvertor<ResourceClaim> = {
  columns: [NAME, column('State', 'The state: pending, allocated, reserved, deleted.'), AGE],
  cells: (claim, now) => [
    claim.metadata.name,
    state(claim),
    since(claim.metadata.creationTimestamp, now),
  ],
};

function state({ metadata, status }: ResourceClaim): string {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const states = isDeleted ? ['deleted'] : [];
  if (status.allocation !== undefined) {
    states.push('allocated');
    if ((status.reservedFor ?? []).length > 0) states.push('reserved');
  } else if (!isDeleted) states.push('pending');
  return states.join(',');
}

const BETA = [second, first];

const config: KindConfig<ResourceClaim, StoreServices & ClaimServices> = {
  type: resourceClaims,
  converter: functionConverter(resourceClaimConversions),
  otherVersions: BETA,
  strategy: ({ find }) => resourceClaimStrategy(find),
  table: resourceClaimTable,
  subresources: { status: { strategy: resourceClaimStatusStrategy } },
};

export const resourceClaimKind = defineKind(config);
export const betaResourceClaimKinds = betaKinds(config, BETA, resourceClaimConversions);
