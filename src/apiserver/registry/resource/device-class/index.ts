// The resource deviceclasses.

import { deviceClasses } from '../../../../api/resource/v1/index.ts';
import type * as resource from '../../../../api/resource/v1/index.ts';
import { validateDeviceClass } from '../../../../api/resource/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { namedTable } from '../../../printers/devices.ts';
import { pathSegmentName, subdomainName } from '../../metadata-validation.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type DeviceClass = Immutable<resource.DeviceClass>;

export const deviceClassStrategy: ResourceStrategy<DeviceClass> = {
  returnDeletedObject: true,
  generation: true,
  // What is generated is looked at when it is whole.
  validateName: (name, prefix) => (prefix ? pathSegmentName : subdomainName)(name, prefix),
  validate: (deviceClass) => validateDeviceClass(deviceClass),
  validateUpdate: (deviceClass, old) => validateDeviceClass(deviceClass, old),
};

export function deviceClassResource(services: RegistryServices): ServedResource {
  return {
    type: deviceClasses,
    rest: new ResourceStore<DeviceClass>({ ...services, type: deviceClasses, strategy: deviceClassStrategy }),
    table: namedTable,
  };
}
