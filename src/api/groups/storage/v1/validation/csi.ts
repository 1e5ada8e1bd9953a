// Validation of CSIDriver, CSINode and CSIStorageCapacity.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import {
  immutable,
  invalidEach,
  nonEmpty,
  nonNegative,
  optionalOneOf,
} from '#api/groups/core/v1/validation/common.ts';
import { validateCSIDriverName } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storage from '../types.ts';

type CSIDriver = Immutable<storage.CSIDriver>;
type CSINode = Immutable<storage.CSINode>;
type CSINodeDriver = Immutable<storage.CSINodeDriver>;
type CSIStorageCapacity = Immutable<storage.CSIStorageCapacity>;
type TokenRequest = Immutable<storage.TokenRequest>;

const SPEC = field.path('spec');
const FS_GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType'];
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral'];
const MIN_UPDATE_PERIOD = 10;
/** In bytes, as in the CSI specification. */
const MAX_NODE_ID = 256;

/** Validates the name of a driver. A missing name has this error only. */
export function driverName(name: string, at: FieldPath): FieldErrorList {
  return name === '' ? [field.required(at)] : validateCSIDriverName(name, at);
}

export function validateCSIDriver({ spec }: CSIDriver): FieldErrorList {
  const errors: FieldErrorList = [];
  // As in upstream, the path of the first error has a misspelled name.
  if (spec.attachRequired === undefined)
    errors.push(field.required(SPEC.child('attachedRequired')));
  for (const name of ['podInfoOnMount', 'storageCapacity'] as const) {
    if (spec[name] === undefined) errors.push(field.required(SPEC.child(name)));
  }
  errors.push(
    ...optionalOneOf(spec.fsGroupPolicy, FS_GROUP_POLICIES, SPEC.child('fsGroupPolicy')),
    ...tokenRequests(spec.tokenRequests ?? [], SPEC.child('tokenRequests')),
    ...(spec.volumeLifecycleModes ?? []).flatMap((mode) =>
      optionalOneOf(mode, LIFECYCLE_MODES, SPEC.child('volumeLifecycleModes')),
    ),
  );
  if (spec.seLinuxMount === undefined) errors.push(field.required(SPEC.child('seLinuxMount')));
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period < MIN_UPDATE_PERIOD) {
    const message = `must be greater than or equal to ${MIN_UPDATE_PERIOD} seconds`;
    errors.push(field.invalid(SPEC.child('nodeAllocatableUpdatePeriodSeconds'), period, message));
  }
  const inSecrets = spec.serviceAccountTokenInSecrets;
  if (inSecrets !== undefined && (spec.tokenRequests ?? []).length === 0) {
    const message = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified';
    errors.push(field.invalid(SPEC.child('serviceAccountTokenInSecrets'), inSecrets, message));
  }
  return errors;
}

export function validateCSIDriverUpdate(driver: CSIDriver, old: CSIDriver): FieldErrorList {
  const { attachRequired, volumeLifecycleModes } = driver.spec;
  return [
    ...validateCSIDriver(driver),
    ...immutable(
      attachRequired,
      old.spec.attachRequired,
      SPEC.child('attachedRequired'),
      semanticEqual,
    ),
    ...immutable(
      volumeLifecycleModes,
      old.spec.volumeLifecycleModes,
      SPEC.child('volumeLifecycleModes'),
      semanticEqual,
    ),
  ];
}

function tokenRequests(list: readonly TokenRequest[], at: FieldPath): FieldErrorList {
  const seen = new Set<string>();
  return list.flatMap(({ audience, expirationSeconds: seconds }, index) => {
    const path = at.index(index);
    if (seen.has(audience)) return [field.duplicate(path.child('audience'), audience)];
    seen.add(audience);
    const invalid = (message: string): FieldErrorList => [
      field.invalid(path.child('expirationSeconds'), seconds, message),
    ];
    if (seconds !== undefined && seconds < 600)
      return invalid('may not specify a duration less than 10 minutes');
    if (seconds !== undefined && seconds > 2 ** 32)
      return invalid('may not specify a duration larger than 2^32 seconds');
    return [];
  });
}

export function validateCSINode({ spec }: CSINode): FieldErrorList {
  const names = new Set<string>();
  const drivers = SPEC.child('drivers');
  return (spec.drivers ?? []).flatMap((driver, index) => {
    const errors = nodeDriver(driver, names.has(driver.name), drivers.index(index));
    names.add(driver.name);
    return errors;
  });
}

function nodeDriver(
  { name, nodeID, topologyKeys, allocatable }: CSINodeDriver,
  isKnown: boolean,
  at: FieldPath,
): FieldErrorList {
  const errors = [...driverName(name, at.child('name')), ...nonEmpty(nodeID, at.child('nodeID'))];
  if (Buffer.byteLength(nodeID) > MAX_NODE_ID) {
    errors.push(
      field.invalid(at.child('nodeID'), nodeID, `must be ${MAX_NODE_ID} characters or less`),
    );
  }
  errors.push(...nonNegative(allocatable?.count, at.child('allocatable', 'count')));
  if (isKnown) errors.push(field.duplicate(at.child('name'), name));
  const keys = topologyKeys ?? [];
  keys.forEach((key, index) => {
    errors.push(...nonEmpty(key, at));
    if (keys.indexOf(key) < index) errors.push(field.duplicate(at, key));
    errors.push(...invalidEach(at, key, validation.isQualifiedName(key)));
  });
  return errors;
}

/**
 * Validates an update: only the allocatable count of a driver may change while it is registered.
 */
export function validateCSINodeUpdate(node: CSINode, old: CSINode): FieldErrorList {
  const fixed = (driver: CSINodeDriver): object => {
    const { allocatable: _, ...rest } = driver;
    return rest;
  };
  return [
    ...validateCSINode(node),
    ...(old.spec.drivers ?? []).flatMap((before) =>
      (node.spec.drivers ?? [])
        .filter(({ name }) => name === before.name)
        .flatMap((driver) =>
          immutable(fixed(driver), fixed(before), SPEC.child('drivers'), semanticEqual),
        ),
    ),
  ];
}

export function validateCSIStorageCapacity(
  capacity: CSIStorageCapacity,
  old?: CSIStorageCapacity,
): FieldErrorList {
  const nodeTopology = field.path('nodeTopology');
  const wasInvalid =
    old !== undefined && validateLabelSelector(old.nodeTopology, nodeTopology).length > 0;
  const { storageClassName } = capacity;
  return [
    ...validateLabelSelector(capacity.nodeTopology, nodeTopology, {
      allowInvalidLabelValueInSelector: wasInvalid,
    }),
    ...invalidEach(
      field.path('storageClassName'),
      storageClassName,
      validation.isDNS1123Subdomain(storageClassName),
    ),
    ...(capacity.capacity !== undefined && parseQuantity(capacity.capacity).sign() < 0
      ? [field.invalid(field.path('capacity'), capacity.capacity, validation.IS_NEGATIVE_MESSAGE)]
      : []),
  ];
}

export function validateCSIStorageCapacityUpdate(
  capacity: CSIStorageCapacity,
  old: CSIStorageCapacity,
): FieldErrorList {
  return [
    ...validateCSIStorageCapacity(capacity, old),
    ...(['nodeTopology', 'storageClassName'] as const).flatMap((name) =>
      immutable(capacity[name], old[name], field.path(name), semanticEqual),
    ),
  ];
}
