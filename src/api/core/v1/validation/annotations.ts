// Rules of annotations that are not those of an object's own metadata: in templates, and those that mean something to pods.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { PodSpec } from './types.ts';
import { invalidEach, MAX_INT32 } from './common.ts';

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

/** Put on a pod of a file by the kubelet that runs it. */
const MIRROR = 'kubernetes.io/config.mirror';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** The API's copy of a pod that a node has from a file. */
export const isMirrorPod = (map: Annotations | undefined): boolean => map?.[MIRROR] !== undefined;

/** What annotations say that the server itself knows. */
export function podAnnotations(map: Annotations | undefined, spec: PodSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const mirror = map?.[MIRROR];
  if (mirror !== undefined && (spec.nodeName ?? '') === '') {
    errors.push(field.invalid(at.key(MIRROR), mirror, 'must set spec.nodeName if mirror pod annotation is set'));
  }
  const cost = map?.[DELETION_COST];
  if (cost !== undefined && !isInt32(cost)) {
    errors.push(field.invalid(at.key(DELETION_COST), cost, 'must be a 32bit integer'));
  }
  return errors;
}

/** Written as a number is: no plus sign, no leading zeros. */
function isInt32(text: string): boolean {
  return /^(0|-?[1-9][0-9]*|-0)$/.test(text) && Number(text) >= -MAX_INT32 - 1 && Number(text) <= MAX_INT32;
}

export function podAnnotationsUpdate(map: Annotations | undefined, old: Annotations | undefined, at: FieldPath): FieldErrorList {
  const before = old?.[MIRROR];
  const after = map?.[MIRROR];
  if (before === after) return [];
  const message = before === undefined ? 'may not add mirror pod annotation' : 'may not remove or update mirror pod annotation';
  return [field.forbidden(at.key(MIRROR), message)];
}
