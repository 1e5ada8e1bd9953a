// Validation of the approval that definitions in Kubernetes' own groups require.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { approvalOf, APPROVED_ANNOTATION, isProtectedGroup } from '../approval.ts';
import type { Definition } from './definition.ts';

/** Validates the approval. One that was missing or invalid before may stay so. */
export function validateApproval(
  { spec, metadata }: Definition,
  old: Definition | undefined,
): FieldErrorList {
  if (!isProtectedGroup(spec.group)) return [];
  const { annotations } = metadata;
  const { state, reason } = approvalOf(annotations);
  if (old !== undefined && approvalOf(old.metadata.annotations).state === state) return [];
  const at = field.path('metadata', 'annotations').key(APPROVED_ANNOTATION);
  if (state === 'missing') return [field.required(at, reason)];
  return state === 'invalid' ? [field.invalid(at, annotations?.[APPROVED_ANNOTATION], reason)] : [];
}
