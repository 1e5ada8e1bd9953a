// The resource csidrivers.

import { csiDrivers } from '#api/groups/storage/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import {
  validateCSIDriver,
  validateCSIDriverUpdate,
} from '#api/groups/storage/v1/validation/index.ts';
import { csiDriverWarnings } from '#api/groups/storage/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, joined } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type CSIDriver = Immutable<storage.CSIDriver>;

/**
 * Returns the driver without preventPodSchedulingIfMissing, whose feature is disabled by default.
 */
function withoutDisabledFields(driver: CSIDriver, old?: CSIDriver): CSIDriver {
  const { preventPodSchedulingIfMissing, ...spec } = driver.spec;
  if (
    preventPodSchedulingIfMissing === undefined ||
    old?.spec.preventPodSchedulingIfMissing !== undefined
  )
    return driver;
  return { ...driver, spec };
}

const csiDriverStrategy: ResourceStrategy<CSIDriver> = {
  generation: true,
  initialGeneration: 0,
  returnDeletedObject: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (driver) => withoutDisabledFields(driver),
  validate: (driver) => validateCSIDriver(driver),
  warningsOnCreate: (driver) => csiDriverWarnings(driver),
  prepareForUpdate: (driver, old) => withoutDisabledFields(driver, old),
  validateUpdate: (driver, old) => validateCSIDriverUpdate(driver, old),
  warningsOnUpdate: (driver, old) => csiDriverWarnings(driver, old),
};

const UNSET = '<unset>';

const csiDriverTable: TableConvertor<CSIDriver> = {
  columns: [
    NAME,
    column('AttachRequired', 'Whether volumes must be attached before they are mounted.', {
      type: 'boolean',
    }),
    column('PodInfoOnMount', 'Whether the driver gets the pod for which it mounts a volume.', {
      type: 'boolean',
    }),
    column(
      'StorageCapacity',
      'Whether pods wait for a node where there is room for their volumes.',
      {
        type: 'boolean',
      },
    ),
    column('TokenRequests', 'The audiences of the tokens that the driver gets.'),
    column('RequiresRepublish', 'Whether the kubelet repeats mounts periodically.', {
      type: 'boolean',
    }),
    column('Modes', 'The lifecycle modes of its volumes.'),
    AGE,
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.attachRequired ?? true,
    spec.podInfoOnMount ?? false,
    spec.storageCapacity ?? false,
    spec.tokenRequests === undefined
      ? UNSET
      : spec.tokenRequests.map(({ audience }) => audience).join(','),
    spec.requiresRepublish ?? false,
    joined(spec.volumeLifecycleModes),
    since(metadata.creationTimestamp, now),
  ],
};

export const csiDriverKind = defineKind<CSIDriver>({
  type: csiDrivers,
  strategy: csiDriverStrategy,
  table: csiDriverTable,
});
