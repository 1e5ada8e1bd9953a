// The resource csidrivers.

import type * as storage from '#api/groups/storage/v1/index.ts';
import { csiDrivers } from '#api/groups/storage/v1/index.ts';
import { validateCSIDriver, validateCSIDriverUpdate } from '#api/groups/storage/v1/validation/index.ts';
import { csiDriverWarnings } from '#api/groups/storage/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { csiDriverTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type CSIDriver = Immutable<storage.CSIDriver>;

/** Whether pods wait for drivers that are missing cannot be said yet: that is off by default. */
function withoutDisabledFields(driver: CSIDriver, old?: CSIDriver): CSIDriver {
  const { preventPodSchedulingIfMissing, ...spec } = driver.spec;
  if (preventPodSchedulingIfMissing === undefined || old?.spec.preventPodSchedulingIfMissing !== undefined) return driver;
  return { ...driver, spec };
}

export const csiDriverStrategy: ResourceStrategy<CSIDriver> = {
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

export function csiDriverResource(services: RegistryServices): Kind {
  return {
    type: csiDrivers,
    rest: new ResourceStore<CSIDriver>({ ...services, type: csiDrivers, strategy: csiDriverStrategy }),
    table: csiDriverTable,
  };
}
