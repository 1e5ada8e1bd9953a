// Validation of request policies for device capacity, which several claims can share.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as resource from '../types.ts';
import { set } from './common.ts';

type Capacity = Immutable<resource.DeviceCapacity>;
type Policy = Immutable<resource.CapacityRequestPolicy>;
type Range = Immutable<resource.CapacityRequestPolicyRange>;

const MAX_OPTIONS = 10;
const MAX_INT64 = parseQuantity('9223372036854775807');
const BOTH =
  'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';

/** Returns the validation. `shared`: several claims may share the device. */
export function capacityPolicy(
  shared: boolean,
): (capacity: Capacity, at: FieldPath) => FieldErrorList {
  return ({ value, requestPolicy: policy }, at) => {
    const path = at.child('requestPolicy');
    if (policy === undefined) return [];
    if (!shared) return [field.forbidden(path, 'allowMultipleAllocations must be true')];
    return policyRules(policy, parseQuantity(value), path);
  };
}

function policyRules(policy: Policy, capacity: Quantity, at: FieldPath): FieldErrorList {
  const { validValues = [], validRange } = policy;
  // The field is always written: null if absent.
  const standard = policy.default ?? undefined;
  if (validValues.length > 0 && validRange !== undefined) return [field.forbidden(at, BOTH)];
  const name = validValues.length > 0 ? 'validValues' : 'validRange';
  if (validValues.length === 0 && validRange === undefined) return [];
  if (standard === undefined)
    return [field.required(at.child('default'), `required when ${name} is defined`)];
  if (validRange === undefined)
    return options(parseQuantity(standard), capacity, validValues, at.child('validValues'));
  return range(parseQuantity(standard), capacity, validRange, at.child('validRange'));
}

function options(
  standard: Quantity,
  capacity: Quantity,
  values: readonly string[],
  at: FieldPath,
): FieldErrorList {
  const quantities = values.map((value) => parseQuantity(value));
  const errors: FieldErrorList = [];
  quantities.forEach((value, index) => {
    const before = quantities[index - 1];
    if (before !== undefined && before.cmp(value) > 0) {
      errors.push(
        field.invalid(
          at.index(index),
          value.toString(),
          'values must be sorted in ascending order',
        ),
      );
    }
  });
  const rule = (value: Quantity, path: FieldPath): FieldErrorList =>
    value.cmp(capacity) > 0
      ? [
          field.invalid(
            path,
            value.toString(),
            `option is larger than capacity value: ${capacity.toString()}`,
          ),
        ]
      : [];
  errors.push(...set(quantities, MAX_OPTIONS, rule, asInt64, at));
  if (quantities.length > MAX_OPTIONS || !quantities.some((value) => value.equals(standard))) {
    errors.push(
      field.invalid(
        at,
        standard.toString(),
        'default value is not valid according to the requestPolicy',
      ),
    );
  }
  return errors;
}

function range(
  standard: Quantity,
  capacity: Quantity,
  { min, max, step }: Range,
  at: FieldPath,
): FieldErrorList {
  if (min === undefined)
    return [field.required(at.child('min'), 'required when validRange is defined')];
  const least = parseQuantity(min);
  const most = max === undefined ? undefined : parseQuantity(max);
  const errors: FieldErrorList = [];
  const report = (name: string, value: Quantity, message: string): void => {
    errors.push(field.invalid(at.child(name), value.toString(), message));
  };
  if (least.cmp(capacity) > 0)
    report('min', least, `min is larger than capacity value: ${capacity.toString()}`);
  if (standard.cmp(least) < 0)
    report('default', standard, `default is less than min: ${least.toString()}`);
  if (most !== undefined) {
    if (least.cmp(most) > 0) report('max', least, `min is larger than max: ${most.toString()}`);
    if (most.cmp(capacity) > 0)
      report('max', most, `max is larger than capacity value: ${capacity.toString()}`);
    if (standard.cmp(most) > 0)
      report('default', standard, `default is more than max: ${most.toString()}`);
  }
  return step === undefined
    ? errors
    : [...errors, ...steps(standard, capacity, { least, most }, parseQuantity(step), at)];
}

function steps(
  standard: Quantity,
  capacity: Quantity,
  { least, most }: { readonly least: Quantity; readonly most: Quantity | undefined },
  step: Quantity,
  at: FieldPath,
): FieldErrorList {
  const path = at.child('step');
  if (step.sign() <= 0) return [field.invalid(path, step.toString(), 'must be greater than zero')];
  const errors: FieldErrorList = [];
  const first = least.add(step);
  if (first.cmp(capacity) > 0) {
    const message = `one step ${first.toString()} is larger than capacity value: ${capacity.toString()}`;
    errors.push(field.invalid(path, step.toString(), message));
  }
  const named = { default: standard, min: least, ...(most !== undefined && { max: most }), step };
  const unusable = Object.entries(named).flatMap(([name, value]) =>
    notInInt64(value, at.child(name)),
  );
  if (unusable.length > 0) return [...errors, ...unusable];
  for (const value of [standard, ...(most === undefined ? [] : [most])]) {
    if ((roundedUp(value) - roundedUp(least)) % roundedUp(step) === 0n) continue;
    const message = `value is not a multiple of a given step (${step.toString()}) from (${least.toString()})`;
    errors.push(field.invalid(path, value.toString(), message));
  }
  return errors;
}

/** Returns a quantity in Go's int64: rounded up and limited to the maximum. */
function asInt64(quantity: Quantity): string {
  return quantity.cmp(MAX_INT64) > 0 ? MAX_INT64.toString() : roundedUp(quantity).toString();
}

const roundedUp = (quantity: Quantity): bigint => quantity.roundUp(0).scaledValueExact(0);

function notInInt64(value: Quantity, at: FieldPath): FieldErrorList {
  if (value.sign() < 0)
    return [field.invalid(at, value.toString(), validation.IS_NEGATIVE_MESSAGE)];
  if (value.cmp(MAX_INT64) <= 0) return [];
  return [field.invalid(at, value.toString(), `must not be larger than ${MAX_INT64.toString()}`)];
}
