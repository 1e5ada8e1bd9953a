// The resource deviceclasses.

import { deviceClasses } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import { validateDeviceClass } from '#api/groups/resource/v1/validation/index.ts';
import { deviceClassConversions } from '#api/groups/resource/v1beta1/conversion.ts';
import { deviceClasses as first } from '#api/groups/resource/v1beta1/index.ts';
import { deviceClasses as second } from '#api/groups/resource/v1beta2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind, type KindConfig } from '#apiserver/catalog/define-kind.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import { pathSegmentName, subdomainName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { namedTable } from '#apiserver/tables/named.ts';
import { betaKinds } from './beta.ts';

type DeviceClass = Immutable<resource.DeviceClass>;

const deviceClassStrategy: ResourceStrategy<DeviceClass> = {
  returnDeletedObject: true,
  generation: true,
  // The prefix of a generated name is checked less strictly; the complete name is checked later.
  validateName: (name, prefix) => (prefix ? pathSegmentName : subdomainName)(name, prefix),
  validate: (deviceClass) => validateDeviceClass(deviceClass),
  validateUpdate: (deviceClass, old) => validateDeviceClass(deviceClass, old),
};

const BETA = [second, first];

const config: KindConfig<DeviceClass, StoreServices> = {
  type: deviceClasses,
  converter: functionConverter(deviceClassConversions),
  otherVersions: BETA,
  strategy: deviceClassStrategy,
  table: namedTable,
};

export const deviceClassKind = defineKind(config);
export const betaDeviceClassKinds = betaKinds(config, BETA, deviceClassConversions);
