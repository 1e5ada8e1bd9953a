// The resource deviceclasses.

import { deviceClasses } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import { validateDeviceClass } from '#api/groups/resource/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { namedTable } from '#apiserver/printers/devices.ts';
import { pathSegmentName, subdomainName } from '#apiserver/registry/metadata-validation.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type DeviceClass = Immutable<resource.DeviceClass>;

export const deviceClassStrategy: ResourceStrategy<DeviceClass> = {
  returnDeletedObject: true,
  generation: true,
  // What is generated is looked at when it is whole.
  validateName: (name, prefix) => (prefix ? pathSegmentName : subdomainName)(name, prefix),
  validate: (deviceClass) => validateDeviceClass(deviceClass),
  validateUpdate: (deviceClass, old) => validateDeviceClass(deviceClass, old),
};

export function deviceClassResource(services: RegistryServices): Kind {
  return {
    type: deviceClasses,
    rest: new ResourceStore<DeviceClass>({ ...services, type: deviceClasses, strategy: deviceClassStrategy }),
    table: namedTable,
  };
}
