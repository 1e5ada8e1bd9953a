// The resource persistentvolumeclaims.

import { persistentVolumeClaims } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import { persistentVolumeClaimWarnings } from '#api/groups/core/v1/volume-warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { persistentVolumeClaimTable } from '../volume-tables.ts';
import { supportedDataSources, withBothDataSources } from './data-sources.ts';

export type PersistentVolumeClaim = Immutable<core.PersistentVolumeClaim>;

const persistentVolumeClaimStrategy: ResourceStrategy<PersistentVolumeClaim> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  prepareForCreate: (claim) => ({
    ...claim,
    spec: withBothDataSources(supportedDataSources(claim.spec)),
    status: { phase: 'Pending' },
  }),
  validate: (claim) => validatePersistentVolumeClaim(claim),
  warningsOnCreate: (claim) => persistentVolumeClaimWarnings(claim),
  // Clients that use only the older field send objects back without the newer one.
  prepareForUpdate: (claim, old) => ({
    ...claim,
    spec: withBothDataSources(supportedDataSources(claim.spec, old.spec)),
    status: old.status,
  }),
  validateUpdate: (claim, old) =>
    validatePersistentVolumeClaimUpdate(claim, { ...old, spec: withBothDataSources(old.spec) }),
  warningsOnUpdate: (claim) => persistentVolumeClaimWarnings(claim),
};

const persistentVolumeClaimStatusStrategy: SubresourceStrategy<PersistentVolumeClaim> = {
  prepareForUpdate: (claim, old) => ({ ...claim, spec: old.spec }),
  validateUpdate: (claim) => validatePersistentVolumeClaimStatusUpdate(claim),
};

export const persistentVolumeClaimKind = defineKind<PersistentVolumeClaim>({
  type: persistentVolumeClaims,
  strategy: persistentVolumeClaimStrategy,
  table: persistentVolumeClaimTable,
  subresources: { status: { strategy: persistentVolumeClaimStatusStrategy } },
});
