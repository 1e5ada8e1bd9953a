// Validates the fields of the scale subresource in every write of an object: replicas are numbers,
// and the selector is a string.

import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import type { ScalePaths } from '../description.ts';
import { namesOfPath, NestedFieldError, nestedInteger, nestedString } from './nested.ts';

const MAX_INT32 = 2_147_483_647;

type JsonObject = Readonly<Record<string, unknown>>;

export function validateScaleSpec(
  object: object,
  { specReplicasPath }: ScalePaths,
): FieldErrorList {
  return validateReplicas(object as JsonObject, specReplicasPath);
}

export function validateScaleStatus(
  object: object,
  { statusReplicasPath, labelSelectorPath }: ScalePaths,
): FieldErrorList {
  const errors = validateReplicas(object as JsonObject, statusReplicasPath);
  if (labelSelectorPath !== undefined) {
    const problem = problemOf(() =>
      nestedString(object as JsonObject, namesOfPath(labelSelectorPath)),
    );
    if (problem !== undefined)
      errors.push(field.invalid(field.path(labelSelectorPath), '', problem));
  }
  return errors;
}

function validateReplicas(object: JsonObject, path: string): FieldErrorList {
  let replicas = 0;
  const at = field.path(path);
  const problem = problemOf(() => {
    replicas = nestedInteger(object, namesOfPath(path)) ?? 0;
  });
  if (problem !== undefined) return [field.invalid(at, 0, problem)];
  if (replicas < 0) return [field.invalid(at, replicas, 'should be a non-negative integer')];
  if (replicas > MAX_INT32)
    return [field.invalid(at, replicas, `should be less than or equal to ${MAX_INT32}`)];
  return [];
}

function problemOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof NestedFieldError) return error.message;
    throw error;
  }
}
