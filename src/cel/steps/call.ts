// Calls of functions.

import { matches, type Overload } from '../declarations.ts';
import { noSuchOverload } from '../errors.ts';
import type { Type } from '../types.ts';
import { isDynOrError } from '../unify.ts';
import type { Value } from '../values.ts';
import type { Step } from './step.ts';

/**
 * Returns the step for a call. It is charged before the call is made, so that calls beyond the
 * limit are not made; unless the cost depends on the result. The overload is chosen once if there
 * is only one and the argument types are certain, otherwise in each call.
 */
export function caller(
  overloads: readonly Overload[],
  steps: readonly Step[],
  sure: readonly boolean[],
): Step {
  const only = overloads.length === 1 ? overloads[0]! : undefined;
  if (only !== undefined) {
    const call = only.call as (...args: Value[]) => Value;
    const { cost, parameters } = only;
    const checks = parameters.map((type, index) =>
      sure[index] === true ||
      only.unguarded === true ||
      isDynOrError(type) ||
      type.kind === 'parameter'
        ? undefined
        : type,
    );
    if (steps.length === 1) {
      const [argument] = steps as [Step];
      const [type] = checks as [Type | undefined];
      return (frame) => {
        const value = argument(frame);
        if (type !== undefined && !matches(type, value)) throw noSuchOverload();
        if (cost === undefined) frame.charge(1);
        else if (cost.length < 2) frame.charge(cost([value], undefined));
        const result = call(value);
        if (cost !== undefined && cost.length >= 2) frame.charge(cost([value], result));
        return result;
      };
    }
    if (steps.length === 2) {
      const [left, right] = steps as [Step, Step];
      const [leftType, rightType] = checks as [Type | undefined, Type | undefined];
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (leftType !== undefined && !matches(leftType, a)) throw noSuchOverload();
        if (rightType !== undefined && !matches(rightType, b)) throw noSuchOverload();
        if (cost === undefined) frame.charge(1);
        else if (cost.length < 2) frame.charge(cost([a, b], undefined));
        const result = call(a, b);
        if (cost !== undefined && cost.length >= 2) frame.charge(cost([a, b], result));
        return result;
      };
    }
  }
  return (frame) => {
    const values = steps.map((step) => step(frame));
    for (const overload of overloads) {
      if (
        overload.unguarded !== true &&
        !overload.parameters.every((type, index) => matches(type, values[index]))
      )
        continue;
      const { cost } = overload;
      if (cost === undefined || cost.length < 2)
        frame.charge(cost === undefined ? 1 : cost(values, undefined));
      const result = (overload.call as (...args: Value[]) => Value)(...values);
      if (cost !== undefined && cost.length >= 2) frame.charge(cost(values, result));
      return result;
    }
    throw noSuchOverload();
  };
}
