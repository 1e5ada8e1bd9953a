// CEL selectors of devices: what an expression may use, and whether it compiles.

import { Environment, kubernetesLibraries, QUANTITY, types } from '../../../../cel/index.ts';
import type { Type } from '../../../../cel/index.ts';
import { bindingsLibrary } from '../../../../cel/library/bindings.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';

const MAX_EXPRESSION = 10 * 1024;

/** What `device` is. Attributes and capacity: by domain, then by name. */
export const DEVICE = types.object('kubernetes.DRADevice', {
  driver: types.STRING,
  attributes: types.map(types.STRING, types.map(types.STRING, types.ANY)),
  capacity: types.map(types.STRING, types.map(types.STRING, QUANTITY)),
  allowMultipleAllocations: types.BOOL,
});

const environment = new Environment({
  variables: { device: DEVICE },
  libraries: [...kubernetesLibraries, bindingsLibrary],
});

export function selectorExpression(expression: string, at: FieldPath): FieldErrorList {
  if (Buffer.byteLength(expression) > MAX_EXPRESSION) return [field.tooLong(at, '', MAX_EXPRESSION)];
  const { program, error } = environment.compile(expression);
  if (program === undefined) return [field.invalid(at, expression, `compilation failed: ${error.message}`)];
  const { resultType } = program;
  // What an attribute is only the device can tell.
  if (resultType.kind === 'bool' || resultType.kind === 'any') return [];
  const message = `must evaluate to bool or the unknown type, not ${nameOf(resultType)}`;
  return [field.invalid(at, expression, message)];
}

/** The name by which a type is known while expressions run. */
function nameOf(type: Type): string {
  if (type.kind === 'list') return `list(${nameOf(type.element)})`;
  if (type.kind === 'map') return `map(${nameOf(type.key)}, ${nameOf(type.value)})`;
  return type.kind === 'any' ? 'google.protobuf.Any' : types.typeName(type);
}
