// Validation of annotations of templates, and of annotations that configure pods.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { PodSpec, Toleration } from './types.ts';
import { invalidEach, MAX_INT32 } from './common.ts';
import { APP_ARMOR_OF_CONTAINER, profileAnnotations } from './profile-annotations.ts';
import { tolerations } from './scheduling.ts';

type Annotations = Readonly<Record<string, string>>;

const TOTAL_SIZE_LIMIT = 256 * 1024;

export function annotations(map: Annotations | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let size = 0;
  for (const [key, value] of Object.entries(map ?? {})) {
    // Upper case is allowed in the key, for compatibility.
    errors.push(...invalidEach(at, key, validation.isQualifiedName(key.toLowerCase())));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > TOTAL_SIZE_LIMIT) errors.push(field.tooLong(at, '', TOTAL_SIZE_LIMIT));
  return errors;
}

/** The kubelet sets it on the mirror of a static pod. */
const MIRROR = 'kubernetes.io/config.mirror';
const TOLERATIONS = 'scheduler.alpha.kubernetes.io/tolerations';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** Reports whether the pod is the mirror of a static pod. */
export const isMirrorPod = (map: Annotations | undefined): boolean => map?.[MIRROR] !== undefined;

/** Validates annotations that the server itself uses. */
export function podAnnotations(
  map: Annotations | undefined,
  spec: PodSpec,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const mirror = map?.[MIRROR];
  if (mirror !== undefined && (spec.nodeName ?? '') === '') {
    errors.push(
      field.invalid(
        at.key(MIRROR),
        mirror,
        'must set spec.nodeName if mirror pod annotation is set',
      ),
    );
  }
  errors.push(...oldTolerations(map?.[TOLERATIONS] ?? '', at));
  const cost = map?.[DELETION_COST];
  if (cost !== undefined && !isInt32(cost)) {
    errors.push(field.invalid(at.key(DELETION_COST), cost, 'must be a 32bit integer'));
  }
  return [...errors, ...profileAnnotations(map, spec, at)];
}

/** Validates the obsolete annotation, which must still contain tolerations. */
function oldTolerations(text: string, at: FieldPath): FieldErrorList {
  if (text === '') return [];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    return [field.invalid(at, TOLERATIONS, (error as Error).message)];
  }
  if (list === null) return [];
  const isList =
    Array.isArray(list) &&
    list.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item));
  if (!isList)
    return [
      field.invalid(
        at,
        TOLERATIONS,
        'json: cannot unmarshal into Go value of type []v1.Toleration',
      ),
    ];
  return tolerations(list as Toleration[], at.child(TOLERATIONS));
}

/** Reports whether the text is an int32 without plus sign and leading zeros. */
function isInt32(text: string): boolean {
  return (
    /^(0|-?[1-9][0-9]*|-0)$/.test(text) &&
    Number(text) >= -MAX_INT32 - 1 &&
    Number(text) <= MAX_INT32
  );
}

/** Validates that a pod's source and its profiles do not change. */
export function podAnnotationsUpdate(
  map: Annotations | undefined,
  old: Annotations | undefined,
  spec: PodSpec,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const refuse = (key: string, verb: string): void => {
    if (key.startsWith(APP_ARMOR_OF_CONTAINER))
      errors.push(field.forbidden(at.key(key), `may not ${verb} AppArmor annotations`));
    if (key === MIRROR)
      errors.push(field.forbidden(at.key(key), `may not ${verb} mirror pod annotation`));
  };
  for (const [key, value] of Object.entries(old ?? {}))
    if (map?.[key] !== value) refuse(key, 'remove or update');
  for (const key of Object.keys(map ?? {})) if (old?.[key] === undefined) refuse(key, 'add');
  return [...errors, ...podAnnotations(map, spec, at)];
}
