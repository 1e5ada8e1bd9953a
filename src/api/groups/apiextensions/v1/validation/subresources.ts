// Validation of the subresources of a kind.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Subresources } from './definition.ts';
import { pointerTo } from './shown-values.ts';
import { validateSimplePath } from './simple-path.ts';

/** Validates the subresources of a version, or those common to all versions. */
export function validateSubresources(
  subresources: Subresources | undefined,
  at: FieldPath,
): FieldErrorList {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale;
  const here = at.child('scale');
  const selector = here.child('labelSelectorPath');
  return [
    ...validatePath(specReplicasPath, here.child('specReplicasPath'), '.spec'),
    ...validatePath(statusReplicasPath, here.child('statusReplicasPath'), '.status'),
    ...(labelSelectorPath === '' ? [] : validateSelectorPath(labelSelectorPath, selector)),
  ];
}

function validatePath(path: string, at: FieldPath, under: '.spec' | '.status'): FieldErrorList {
  if (path === '') return [field.required(at)];
  const errors = validateSimplePath(path, at);
  if (errors.length > 0 || path.startsWith(`${under}.`)) return errors;
  return [field.invalid(at, path, `should be a json path under ${under}`)];
}

function validateSelectorPath(path: string, at: FieldPath): FieldErrorList {
  const errors = validateSimplePath(path, at);
  if (errors.length > 0 || path.startsWith('.spec.') || path.startsWith('.status.')) return errors;
  return [
    field.invalid(at, pointerTo(path), 'should be a json path under either .spec or .status'),
  ];
}
