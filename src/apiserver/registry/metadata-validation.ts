// Validates the metadata of stored objects. The rules are the same for every kind, except for those of names.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  MetadataPaths,
  type NameRules,
  pathSegmentName,
  validateCommon,
  validateGenerateName,
  validateObjectMeta,
} from '#api/machinery/meta/v1/object-meta-validation.ts';
import { type FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { deepEqual } from '#machinery/deep.ts';

const METADATA = new FieldPath('metadata');
const PATHS = new MetadataPaths(METADATA);

export function validateMetadata(
  object: KubeObject,
  namespaced: boolean,
  rules: NameRules,
): FieldErrorList {
  return validateObjectMeta(object.metadata, namespaced, rules, PATHS, object);
}

export function validateMetadataUpdate(
  object: KubeObject,
  old: KubeObject,
  rules: NameRules,
): FieldErrorList {
  const { metadata } = object;
  const before = old.metadata;
  const errors: FieldErrorList = [];
  if (!deepEqual(metadata.finalizers ?? [], before.finalizers ?? []))
    errors.push(...validateFinalizersUpdate(object, old));
  const immutable = (
    name:
      | 'name'
      | 'namespace'
      | 'uid'
      | 'creationTimestamp'
      | 'deletionTimestamp'
      | 'deletionGracePeriodSeconds',
  ): void => {
    if ((metadata[name] ?? '') !== (before[name] ?? '')) {
      errors.push(
        field.invalid(METADATA.child(name), metadata[name] ?? null, 'field is immutable'),
      );
    }
  };
  immutable('name');
  immutable('namespace');
  immutable('uid');
  immutable('creationTimestamp');
  immutable('deletionTimestamp');
  immutable('deletionGracePeriodSeconds');
  const { generateName = '' } = metadata;
  errors.push(
    ...validateGenerateName(generateName, { validateName: pathSegmentName }, PATHS),
    ...(rules.checksNameOnUpdate === true ? validateGenerateName(generateName, rules, PATHS) : []),
    ...validateCommon(metadata, rules, PATHS),
  );
  return errors;
}

/** Validates that no finalizer is added once the deletion has started. */
function validateFinalizersUpdate(object: KubeObject, old: KubeObject): FieldErrorList {
  if (old.metadata.deletionTimestamp === undefined) return [];
  const before = new Set(old.metadata.finalizers ?? []);
  const added = (object.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (added.length === 0) return [];
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
  const message =
    'no new finalizers can be added if the object is being deleted, found new ' +
    `finalizers []string{${list}}`;
  return [field.forbidden(PATHS.finalizers, message)];
}
