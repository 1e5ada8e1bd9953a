// The resource deviceclasses.

import { deviceClasses } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import { validateDeviceClass } from '#api/groups/resource/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName, subdomainName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { namedTable } from '#apiserver/tables/named.ts';

type DeviceClass = Immutable<resource.DeviceClass>;

const deviceClassStrategy: ResourceStrategy<DeviceClass> = {
  returnDeletedObject: true,
  generation: true,
  // The prefix of a generated name is checked less strictly; the complete name is checked later.
  validateName: (name, prefix) => (prefix ? pathSegmentName : subdomainName)(name, prefix),
  validate: (deviceClass) => validateDeviceClass(deviceClass),
  validateUpdate: (deviceClass, old) => validateDeviceClass(deviceClass, old),
};

export const deviceClassKind = defineKind<DeviceClass>({
  type: deviceClasses,
  strategy: deviceClassStrategy,
  table: namedTable,
});
