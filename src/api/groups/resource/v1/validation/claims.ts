// Validation of resource claims, of their status and of their templates.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, isIPv6, nonEmpty } from '#api/groups/core/v1/validation/common.ts';
import { validateAnnotations } from '#api/groups/core/v1/validation/index.ts';
import { nodeSelector } from '#api/groups/core/v1/validation/scheduling.ts';
import { validateConditions } from '#api/machinery/meta/v1/conditions.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as resource from '../types.ts';
import {
  bindingConditions,
  driverName,
  items,
  label,
  poolName,
  rawObject,
  set,
  uid,
} from './common.ts';
import {
  deviceClaim,
  deviceConfiguration,
  MAX_CONFIGS,
  requestNames,
  type RequestNames,
  requestReference,
  requestReferences,
} from './requests.ts';

type ResourceClaim = Immutable<resource.ResourceClaim>;
type ResourceClaimTemplate = Immutable<resource.ResourceClaimTemplate>;
type Allocation = Immutable<resource.AllocationResult>;
type AllocatedDevice = Immutable<resource.AllocatedDeviceStatus>;

const SPEC = field.path('spec');
const STATUS = field.path('status');
const MAX_RESERVATIONS = 256;
const MAX_RESULTS = 32;
const MAX_CONDITIONS = 8;
const MAX_DATA = 10 * 1024;
const MAX_INTERFACE_NAME = 256;
const MAX_HARDWARE_ADDRESS = 128;
const MAX_IPS = 16;
const SOURCES = ['FromClaim', 'FromClass'];

export function validateResourceClaim({ spec }: ResourceClaim): FieldErrorList {
  return deviceClaim(spec.devices, SPEC.child('devices'));
}

export function validateResourceClaimUpdate(
  { spec }: ResourceClaim,
  old: ResourceClaim,
): FieldErrorList {
  return immutable(spec, old.spec, SPEC, semanticEqual);
}

export function validateResourceClaimTemplate({ spec }: ResourceClaimTemplate): FieldErrorList {
  const { labels, annotations, ...others } = spec.metadata;
  const at = SPEC.child('metadata');
  return [
    ...validateAnnotations(annotations, at.child('annotations')),
    ...validation.validateLabels(labels, at.child('labels')),
    ...Object.entries(others)
      .filter(([, value]) => value !== undefined)
      .map(([name]) => field.forbidden(at.child(name === 'uid' ? 'uID' : name), 'cannot be set')),
    ...deviceClaim(spec.spec.devices, SPEC.child('spec', 'devices')),
  ];
}

export function validateResourceClaimTemplateUpdate(
  { spec }: ResourceClaimTemplate,
  old: ResourceClaimTemplate,
): FieldErrorList {
  return immutable(spec, old.spec, SPEC, semanticEqual);
}

/** Returns the identity of a device, with its share if it is shared. */
export function deviceKey(device: {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string;
}): string {
  const { driver, pool, device: name, shareID } = device;
  return [driver, pool, name, ...(shareID === undefined ? [] : [shareID])].join('/');
}

export function validateResourceClaimStatus(
  claim: ResourceClaim,
  old: ResourceClaim,
): FieldErrorList {
  const { allocation, reservedFor = [], devices = [] } = claim.status;
  const names = requestNames(claim.spec.devices);
  const allocated = new Set((allocation?.devices.results ?? []).map(deviceKey));
  const at = STATUS.child('reservedFor');
  const errors = [
    ...set(reservedFor, MAX_RESERVATIONS, consumer, (each) => each.uid, at),
    ...set(
      devices,
      Number.POSITIVE_INFINITY,
      (device, path) => deviceStatus(device, allocated, path),
      deviceKey,
      STATUS.child('devices'),
    ),
  ];
  if (reservedFor.length > 0 && allocation === undefined) {
    errors.push(field.forbidden(at, 'may not be specified when `allocated` is not set'));
  } else if (claim.metadata.deletionTimestamp !== undefined) {
    const before = old.status.reservedFor ?? [];
    if (reservedFor.some((each) => !before.some((other) => semanticEqual(each, other)))) {
      const message =
        'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set';
      errors.push(field.forbidden(at, message));
    }
  }
  if (allocation === undefined) return errors;
  const path = STATUS.child('allocation');
  if (old.status.allocation !== undefined) {
    return [...errors, ...immutable(allocation, old.status.allocation, path, semanticEqual)];
  }
  return [...errors, ...allocationResult(allocation, names, path)];
}

function consumer(
  each: Immutable<resource.ResourceClaimConsumerReference>,
  at: FieldPath,
): FieldErrorList {
  return (['resource', 'name', 'uid'] as const).flatMap((name) =>
    nonEmpty(each[name], at.child(name)),
  );
}

function allocationResult(
  { devices, nodeSelector: nodes }: Allocation,
  names: RequestNames,
  at: FieldPath,
): FieldErrorList {
  const path = at.child('devices');
  return [
    ...items(
      devices.results ?? [],
      MAX_RESULTS,
      (each, where) => deviceResult(each, names, where),
      path.child('results'),
    ),
    ...items(
      devices.config ?? [],
      // The limit counts the configuration of the class as well as that of the claim.
      2 * MAX_CONFIGS,
      (config, where) => [
        ...configSource(config.source, where.child('source')),
        ...requestReferences(config.requests, names, where.child('requests')),
        ...deviceConfiguration(config, where),
      ],
      path.child('config'),
    ),
    ...(nodes === undefined ? [] : nodeSelector(nodes, at.child('nodeSelector'))),
  ];
}

function configSource(source: string, at: FieldPath): FieldErrorList {
  if (source === '') return [field.required(at)];
  return SOURCES.includes(source) ? [] : [field.notSupported(at, source, SOURCES)];
}

function deviceResult(
  result: Immutable<resource.DeviceRequestAllocationResult>,
  names: RequestNames,
  at: FieldPath,
): FieldErrorList {
  // Tolerations are a copy of the request's, which were checked there.
  const {
    bindingConditions: conditions = [],
    bindingFailureConditions: failures = [],
    shareID,
  } = result;
  return [
    ...requestReference(result.request, names, at.child('request')),
    ...driverName(result.driver, at.child('driver')),
    ...poolName(result.pool, at.child('pool')),
    ...label(result.device, at.child('device')),
    ...bindingConditions(conditions, failures, at),
    ...(shareID === undefined ? [] : uid(shareID, at.child('shareID'))),
  ];
}

function deviceStatus(
  device: AllocatedDevice,
  allocated: ReadonlySet<string>,
  at: FieldPath,
): FieldErrorList {
  const { shareID, data, networkData } = device;
  const conditions = device.conditions ?? [];
  const errors = [
    ...driverName(device.driver, at.child('driver')),
    ...poolName(device.pool, at.child('pool')),
    ...label(device.device, at.child('device')),
    ...(shareID === undefined ? [] : uid(shareID, at.child('shareID'))),
  ];
  const key = deviceKey(device);
  if (!allocated.has(key))
    errors.push(field.invalid(at, key, 'must be an allocated device in the claim'));
  const path = at.child('conditions');
  if (conditions.length > MAX_CONDITIONS)
    errors.push(field.tooMany(path, conditions.length, MAX_CONDITIONS));
  errors.push(...validateConditions(conditions, path));
  if (data !== undefined) errors.push(...rawObject(data, MAX_DATA, at.child('data')));
  if (networkData !== undefined) errors.push(...networkRules(networkData, at.child('networkData')));
  return errors;
}

function networkRules(data: Immutable<resource.NetworkDeviceData>, at: FieldPath): FieldErrorList {
  const atMost = (name: 'interfaceName' | 'hardwareAddress', max: number): FieldErrorList =>
    Buffer.byteLength(data[name] ?? '') > max ? [field.tooLong(at.child(name), '', max)] : [];
  return [
    ...atMost('interfaceName', MAX_INTERFACE_NAME),
    ...atMost('hardwareAddress', MAX_HARDWARE_ADDRESS),
    ...set(data.ips ?? [], MAX_IPS, interfaceAddress, (address) => address, at.child('ips')),
  ];
}

/** Validates an address with its prefix length. */
function interfaceAddress(text: string, at: FieldPath): FieldErrorList {
  if (validation.isValidCIDR(text).length > 0) {
    const message = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)';
    return [field.invalid(at, text, message)];
  }
  const [address = '', size = ''] = text.split('/');
  const canonical = isIPv6(address)
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : address;
  return canonical === address
    ? []
    : [field.invalid(at, text, `must be in canonical form ("${canonical}/${size}")`)];
}
