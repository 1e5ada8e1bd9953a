// CEL selectors of devices: their variables, and whether they compile.

import { Environment, kubernetesLibraries, QUANTITY, types, type Type } from '#cel/index.ts';
import { bindingsLibrary } from '#cel/library/bindings.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';

const MAX_EXPRESSION = 10 * 1024;

/** The maximum estimated cost, in CEL's cost units. */
const MAX_COST = 1_000_000;
const MAX_ENTRIES = 32;

const text = (maxLength: number): Type => ({ kind: 'string', maxLength });
/** Returns a map by domain, then by name. */
const byName = (value: Type): Type => {
  const names: Type = { ...types.map(text(32), value), maxProperties: MAX_ENTRIES };
  return { ...types.map(text(63), names), maxProperties: MAX_ENTRIES };
};

/** The type of `device`, with the maximal sizes of its parts. */
export const DEVICE = types.object('kubernetes.DRADevice', {
  driver: text(63),
  attributes: byName({ kind: 'any', maxLength: 64 }),
  capacity: byName(QUANTITY),
  allowMultipleAllocations: types.BOOL,
});

/** The environment for validation and evaluation: accepted expressions can be evaluated. */
export const selectorEnvironment = new Environment({
  variables: { device: DEVICE },
  libraries: [...kubernetesLibraries, bindingsLibrary],
});

/** Returns the maximal cost of an expression, which must compile. */
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
  // The type of an attribute is only known at run time.
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

/** Returns the name of a type at run time. */
function nameOf(type: Type): string {
  if (type.kind === 'list') return `list(${nameOf(type.element)})`;
  if (type.kind === 'map') return `map(${nameOf(type.key)}, ${nameOf(type.value)})`;
  return type.kind === 'any' ? 'google.protobuf.Any' : types.typeName(type);
}
