// Validation of storage classes and volume attributes classes: their provisioners and parameters.
// Messages and paths are upstream's (pkg/apis/storage/validation).

import { deepEqual, semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, invalidEach, optionalOneOf } from '#api/groups/core/v1/validation/common.ts';
import type * as core from '#api/groups/core/v1/types.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storage from '../types.ts';

type StorageClass = Immutable<storage.StorageClass>;
type VolumeAttributesClass = Immutable<storage.VolumeAttributesClass>;
type TopologySelectorTerm = Immutable<core.TopologySelectorTerm>;
type Parameters = Readonly<Record<string, string>>;

const MAX_PARAMETERS = 512;
const MAX_PARAMETERS_SIZE = 256 * 1024;

export function validateStorageClass(storageClass: StorageClass): FieldErrorList {
  const {
    provisioner,
    parameters = {},
    reclaimPolicy,
    volumeBindingMode,
    allowedTopologies = [],
  } = storageClass;
  return [
    ...driver(provisioner, field.path('provisioner')),
    ...sizeOf(parameters, field.path('parameters')),
    // As in upstream, an empty value is accepted.
    ...optionalOneOf(
      (reclaimPolicy as string) === '' ? undefined : reclaimPolicy,
      ['Delete', 'Retain'],
      field.path('reclaimPolicy'),
    ),
    ...(volumeBindingMode === undefined
      ? [field.required(field.path('volumeBindingMode'))]
      : optionalOneOf(
          volumeBindingMode,
          ['Immediate', 'WaitForFirstConsumer'],
          field.path('volumeBindingMode'),
        )),
    ...topologies(allowedTopologies, field.path('allowedTopologies')),
  ];
}

/** Validates an update: the parameters of a class are immutable, since volumes depend on them. */
export function validateStorageClassUpdate(
  storageClass: StorageClass,
  old: StorageClass,
): FieldErrorList {
  return (['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const).flatMap(
    (name) => immutable(storageClass[name], old[name], field.path(name), semanticEqual),
  );
}

export function validateVolumeAttributesClass({
  driverName,
  parameters = {},
}: VolumeAttributesClass): FieldErrorList {
  const errors = [
    ...driver(driverName, field.path('driverName')),
    ...sizeOf(parameters, field.path('parameters')),
  ];
  if (Object.keys(parameters).length === 0) {
    errors.push(
      field.required(field.path('parameters'), 'must contain at least one key/value pair'),
    );
  }
  return errors;
}

export function validateVolumeAttributesClassUpdate(
  now: VolumeAttributesClass,
  old: VolumeAttributesClass,
): FieldErrorList {
  return [
    ...unchanged(now, old, 'driverName', 'parameters'),
    ...validateVolumeAttributesClass(now),
  ];
}

function unchanged<T extends object>(
  now: T,
  old: T,
  ...names: readonly (keyof T & string)[]
): FieldErrorList {
  return names
    .filter((name) => !deepEqual(now[name], old[name]))
    .map((name) => field.forbidden(field.path(name), `updates to ${name} are forbidden.`));
}

function driver(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  const lower = name.toLowerCase();
  return invalidEach(at, lower, validation.isQualifiedName(lower));
}

function sizeOf(parameters: Parameters, at: FieldPath): FieldErrorList {
  const entries = Object.entries(parameters);
  if (entries.length > MAX_PARAMETERS) return [field.tooLong(at, '', MAX_PARAMETERS)];
  const errors: FieldErrorList = [];
  let size = 0;
  for (const [key, value] of entries) {
    if (key === '') errors.push(field.invalid(at, key, 'field can not be empty.'));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > MAX_PARAMETERS_SIZE) errors.push(field.tooLong(at, '', MAX_PARAMETERS_SIZE));
  return errors;
}

/** The allowed values of each key in a term. */
type Term = ReadonlyMap<string, ReadonlySet<string>>;

function topologies(terms: readonly TopologySelectorTerm[], at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  // An empty term is an error: upstream compares each term with as many empty ones as there are
  // terms.
  const seen: Term[] = terms.map(() => new Map());
  terms.forEach((term, index) => {
    const path = at.index(index).child('matchLabelExpressions');
    const valuesByKey = new Map<string, ReadonlySet<string>>();
    (term.matchLabelExpressions ?? []).forEach(({ key, values }, position) => {
      errors.push(...requirement(key, values, path.index(position)));
      if (valuesByKey.has(key))
        errors.push(field.duplicate(path.index(position).child('key'), key));
      valuesByKey.set(key, new Set(values));
    });
    for (const other of seen)
      if (isSame(valuesByKey, other)) errors.push(field.duplicate(path, ''));
    seen.push(valuesByKey);
  });
  return errors;
}

function requirement(key: string, values: readonly string[], at: FieldPath): FieldErrorList {
  const path = at.child('values');
  const errors = values.length === 0 ? [field.required(path)] : [];
  values.forEach((value, index) => {
    if (values.indexOf(value) < index) errors.push(field.duplicate(path.index(index), value));
  });
  return [...errors, ...validation.validateLabelName(key, at.child('key'))];
}

function isSame(a: Term, b: Term): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([key, values]) => {
    const others = b.get(key);
    return (
      others !== undefined &&
      others.size === values.size &&
      [...values].every((value) => others.has(value))
    );
  });
}
