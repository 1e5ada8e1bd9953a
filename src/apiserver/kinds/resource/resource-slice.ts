// The resource resourceslices.

import { resourceSlices } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import { validateResourceSlice } from '#api/groups/resource/v1/validation/index.ts';
import { resourceSliceConversions } from '#api/groups/resource/v1beta1/conversion.ts';
import { resourceSlices as first } from '#api/groups/resource/v1beta1/index.ts';
import { resourceSlices as second } from '#api/groups/resource/v1beta2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import { defineKind, type KindConfig } from '#apiserver/catalog/define-kind.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { formatTime } from '#machinery/text/time.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { betaKinds } from './beta.ts';

type ResourceSlice = Immutable<resource.ResourceSlice>;
type Device = Immutable<resource.Device>;
type Attribute = Immutable<resource.DeviceAttribute>;

const resourceSliceStrategy: ResourceStrategy<ResourceSlice> = {
  returnDeletedObject: true,
  generation: true,
  prepareForCreate: (slice, { now }) => prepared(slice, now),
  validate: (slice) => validateResourceSlice(slice),
  warningsOnCreate: (slice) => warnings(slice),
  prepareForUpdate: (slice, _old, { now }) => prepared(slice, now),
  validateUpdate: (slice, old) => validateResourceSlice(slice, old),
  warningsOnUpdate: (slice) => warnings(slice),
};

function warnings({ spec: { driver } }: ResourceSlice): string[] {
  if (driver === driver.toLowerCase()) return [];
  return [
    `spec.driver: driver names should be lowercase; ${quote(driver)} contains uppercase characters`,
  ];
}

function prepared(slice: ResourceSlice, now: number): ResourceSlice {
  const { devices, ...spec } = slice.spec;
  if (devices === undefined) return slice;
  return {
    ...slice,
    spec: { ...spec, devices: devices.map((device) => preparedDevice(device, now)) },
  };
}

/**
 * Returns the device with the time added to its taints, and without fields of disabled features.
 */
function preparedDevice(sentDevice: Device, now: number): Device {
  const { nodeAllocatableResourceMappings: _, ...device } = sentDevice;
  const { attributes, taints } = device;
  return {
    ...device,
    ...(attributes !== undefined && {
      attributes: Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [name, withoutLists(value)]),
      ),
    }),
    ...(taints !== undefined && {
      taints: taints.map((taint) => ({ ...taint, timeAdded: taint.timeAdded ?? formatTime(now) })),
    }),
  };
}

function withoutLists(attribute: Attribute): Attribute {
  const { ints: _, bools: __, strings: ___, versions: ____, ...scalar } = attribute;
  return scalar;
}

const resourceSliceTable: TableConvertor<ResourceSlice> = {
  columns: [
    NAME,
    column('Node', 'The node that has the devices.'),
    column('Driver', 'The driver of the devices.'),
    column('Pool', 'The pool of the devices.'),
    AGE,
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.nodeName ?? '',
    spec.driver,
    spec.pool.name,
    since(metadata.creationTimestamp, now),
  ],
};

const BETA = [second, first];

const config: KindConfig<ResourceSlice, StoreServices> = {
  type: resourceSlices,
  converter: functionConverter(resourceSliceConversions),
  otherVersions: BETA,
  strategy: resourceSliceStrategy,
  unsupportedField: (label) =>
    `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${label}`,
  selectableFields: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.driver': ({ spec }) => spec.driver,
  },
  table: resourceSliceTable,
};

export const resourceSliceKind = defineKind(config);
export const betaResourceSliceKinds = betaKinds(config, BETA, resourceSliceConversions);
