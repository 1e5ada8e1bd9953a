// CEL selectors of devices: what an expression may use, and whether it compiles.

import { Environment, kubernetesLibraries, QUANTITY, types } from '#cel/index.ts';
import type { Type } from '#cel/index.ts';
import { bindingsLibrary } from '#cel/library/bindings.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';

const MAX_EXPRESSION = 10 * 1024;

/** In upstream's units, as it is estimated. */
const MAX_COST = 1_000_000;
const MAX_ENTRIES = 32;

const text = (maxLength: number): Type => ({ kind: 'string', maxLength });
/** By domain, then by name. */
const byName = (value: Type): Type => {
  const names: Type = { ...types.map(text(32), value), maxProperties: MAX_ENTRIES };
  return { ...types.map(text(63), names), maxProperties: MAX_ENTRIES };
};

/** What `device` is, and how large its parts can be. */
export const DEVICE = types.object('kubernetes.DRADevice', {
  driver: text(63),
  attributes: byName({ kind: 'any', maxLength: 64 }),
  capacity: byName(QUANTITY),
  allowMultipleAllocations: types.BOOL,
});

/** Also for whoever evaluates them: what is accepted is what can be run. */
export const selectorEnvironment = new Environment({
  variables: { device: DEVICE },
  libraries: [...kubernetesLibraries, bindingsLibrary],
});

/** What an expression costs at most. It must compile. */
export const selectorCost = (expression: string): number =>
  selectorEnvironment.estimateCost(expression).max;

export function selectorExpression(expression: string, at: FieldPath): FieldErrorList {
  if (Buffer.byteLength(expression) > MAX_EXPRESSION)
    return [field.tooLong(at, '', MAX_EXPRESSION)];
  const tooLong = field.expressionsTooLong(at, expression);
  if (tooLong.length > 0) return tooLong;
  const { program, error } = selectorEnvironment.compile(expression);
  if (program === undefined)
    return [field.invalid(at, expression, `compilation failed: ${error.message}`)];
  const { resultType } = program;
  // What an attribute is only the device can tell.
  if (resultType.kind !== 'bool' && resultType.kind !== 'any') {
    return [
      field.invalid(
        at,
        expression,
        `must evaluate to bool or the unknown type, not ${nameOf(resultType)}`,
      ),
    ];
  }
  const isDear = selectorCost(expression) > MAX_COST;
  return isDear ? [field.forbidden(at, 'too complex, exceeds cost limit')] : [];
}

/** The name by which a type is known while expressions run. */
function nameOf(type: Type): string {
  if (type.kind === 'list') return `list(${nameOf(type.element)})`;
  if (type.kind === 'map') return `map(${nameOf(type.key)}, ${nameOf(type.value)})`;
  return type.kind === 'any' ? 'google.protobuf.Any' : types.typeName(type);
}
