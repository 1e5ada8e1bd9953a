// Validation of persistent volume claims. The rules of their specs are in claims.ts, shared with
// claim templates.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import { newQuantity, parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import { isNativeResource } from '../pod-resources.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec, ResourceList } from './types.ts';
import { claimSpec, type ClaimRules } from './claims.ts';
import { immutable, invalidEach } from './common.ts';
import { resourceQuantity } from './resources.ts';

const SPEC = field.path('spec');
const STATUS = field.path('status');
/** The annotation for the class before the field existed. */
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

export function validatePersistentVolumeClaim(claim: PersistentVolumeClaim): FieldErrorList {
  return claimSpec(claim.spec, SPEC);
}

/**
 * Validates an update. A bound claim may grow, get its class and its volume if it has none yet, and
 * change its volume's attributes.
 */
export function validatePersistentVolumeClaimUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): FieldErrorList {
  const errors = claimSpec(claim.spec, SPEC, rulesOf(old));
  if (!isUpgradeFromAnnotation(claim, old)) {
    const [annotation, before] = [annotationOf(claim) ?? '', annotationOf(old) ?? ''];
    errors.push(
      ...immutable(
        annotation,
        before,
        field.path('metadata', 'annotations').key(CLASS_ANNOTATION),
        Object.is,
      ),
    );
  }
  if (!semanticEqual(comparable(claim, old), withoutVolumeName(old.spec, claim.spec))) {
    const message =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    errors.push(field.forbidden(SPEC, message));
  }
  const size = storageOf(claim.spec.resources.requests);
  if (
    size.cmp(storageOf(old.spec.resources.requests)) < 0 &&
    size.cmp(storageOf(old.status.capacity)) <= 0
  ) {
    // A failed expansion may be reverted, but not below the actual capacity.
    const path = SPEC.child('resources', 'requests', 'storage');
    errors.push(field.forbidden(path, 'field can not be less than status.capacity'));
  }
  errors.push(
    ...immutable(
      claim.spec.volumeMode,
      old.spec.volumeMode,
      field.path('volumeMode'),
      semanticEqual,
    ),
  );
  return [...errors, ...attributesClassUpdate(claim.spec.volumeAttributesClassName, old)];
}

/** Validates the attributes class: it may change to another one, but not be removed. */
function attributesClassUpdate(
  name: string | undefined,
  { spec, status }: PersistentVolumeClaim,
): FieldErrorList {
  if (
    name === spec.volumeAttributesClassName ||
    status.currentVolumeAttributesClassName === undefined
  )
    return [];
  if (name !== undefined && name !== '') return [];
  const none = name === undefined ? 'nil' : 'empty string';
  const message = `update to ${none} is forbidden when status.currentVolumeAttributesClassName is not nil`;
  return [field.forbidden(SPEC.child('volumeAttributesClassName'), message)];
}

const RESIZE_STATUSES: readonly string[] = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort();

export function validatePersistentVolumeClaimStatusUpdate({
  spec,
  status,
}: PersistentVolumeClaim): FieldErrorList {
  const errors: FieldErrorList = [];
  if ((spec.accessModes ?? []).length === 0)
    errors.push(field.required(field.path('Spec', 'accessModes')));
  errors.push(...amounts(status.capacity, STATUS.child('capacity')));
  const statusesPath = STATUS.child('allocatedResourceStatuses');
  for (const [name, value] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    errors.push(...resourceKey(name, statusesPath));
    if (!RESIZE_STATUSES.includes(value))
      errors.push(field.notSupported(statusesPath, name, RESIZE_STATUSES));
  }
  const allocatedPath = STATUS.child('allocatedResources');
  for (const [name, amount] of Object.entries(status.allocatedResources ?? {})) {
    const problems = [...resourceKey(name, allocatedPath)];
    if (problems.length === 0) problems.push(...amounts({ [name]: amount }, allocatedPath));
    if (problems.length === 0)
      problems.push(...resourceQuantity('storage', parseQuantity(amount), allocatedPath.key(name)));
    errors.push(...problems);
  }
  return errors;
}

function amounts(list: ResourceList | undefined, at: FieldPath): FieldErrorList {
  return Object.entries(list ?? {}).flatMap(([name, amount]) => {
    const quantity = parseQuantity(amount);
    return quantity.value() < 0
      ? [field.invalid(at.key(name), quantity.value(), 'must be a valid resource quantity')]
      : [];
  });
}

/** Validates a resource name: of Kubernetes' own resources only storage is allowed. */
function resourceKey(name: string, at: FieldPath): FieldErrorList {
  const errors = invalidEach(at, name, validation.isQualifiedName(name));
  if (errors.length === 0 && isNativeResource(name) && name !== 'storage')
    errors.push(field.notSupported(at, name, ['storage']));
  return errors;
}

function rulesOf({ spec }: PersistentVolumeClaim): ClaimRules {
  return {
    allowInvalidAPIGroup:
      (spec.dataSource?.apiGroup ?? null) !== null ||
      (spec.dataSourceRef?.apiGroup ?? null) !== null,
    allowInvalidLabelValueInSelector: validateLabelSelector(spec.selector, field.path()).length > 0,
  };
}

const ZERO = newQuantity(0, 'BinarySI');

function storageOf(list: ResourceList | undefined) {
  const amount = list?.['storage'];
  return amount === undefined ? ZERO : parseQuantity(amount);
}

function annotationOf({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[CLASS_ANNOTATION];
}

/** Reports whether the class moves unchanged from the annotation to the field. */
function isUpgradeFromAnnotation(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): boolean {
  const before = annotationOf(old);
  return (
    before !== undefined &&
    old.spec.storageClassName === undefined &&
    claim.spec.storageClassName === before &&
    (annotationOf(claim) ?? before) === before
  );
}

/** Reports whether a claim without a class gets one. */
function mayGetClass(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const before = annotationOf(old);
  const name = claim.spec.storageClassName;
  return (
    name !== undefined &&
    old.spec.storageClassName === undefined &&
    (before === undefined || before === name)
  );
}

/** Returns the spec without the allowed changes. */
function comparable(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): PersistentVolumeClaimSpec {
  const { storageClassName, volumeAttributesClassName, ...rest } = claim.spec;
  const { requests } = rest.resources;
  const { storage: __, ...others } = requests ?? {};
  const before = old.spec.resources.requests?.['storage'];
  const grown =
    claim.status.phase === 'Bound' && requests !== undefined
      ? {
          ...rest.resources,
          requests: { ...others, ...(before !== undefined && { storage: before }) },
        }
      : rest.resources;
  const className = mayGetClass(claim, old) ? old.spec.storageClassName : storageClassName;
  const attributesClass =
    claim.status.phase === 'Bound' ? old.spec.volumeAttributesClassName : volumeAttributesClassName;
  return {
    ...rest,
    resources: asBefore(grown, old.spec.resources),
    ...(attributesClass !== undefined && { volumeAttributesClassName: attributesClass }),
    ...(className !== undefined && { storageClassName: className }),
  };
}

/** Returns the old spec, with the new volume if it had none. */
function withoutVolumeName(
  old: PersistentVolumeClaimSpec,
  now: PersistentVolumeClaimSpec,
): PersistentVolumeClaimSpec {
  const { volumeName, ...rest } = old;
  const name = (volumeName ?? '') === '' ? now.volumeName : volumeName;
  return {
    ...rest,
    resources: asBefore(rest.resources, rest.resources),
    ...(name !== undefined && { volumeName: name }),
  };
}

type Resources = PersistentVolumeClaimSpec['resources'];

/** Returns the resources with equal amounts in their old notation (1Gi, 1073741824). */
function asBefore(resources: Resources, before: Resources): Resources {
  const like = (list: ResourceList | undefined, old: ResourceList | undefined): ResourceList =>
    Object.fromEntries(
      Object.entries(list ?? {}).map(([name, amount]) => {
        const same =
          old !== undefined &&
          Object.hasOwn(old, name) &&
          parseQuantity(amount).equals(parseQuantity(old[name] ?? '0'));
        return [name, same ? (old[name] ?? amount) : amount];
      }),
    );
  return {
    limits: like(resources.limits, before.limits),
    requests: like(resources.requests, before.requests),
  };
}
