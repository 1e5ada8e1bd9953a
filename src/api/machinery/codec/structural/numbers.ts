// The keywords for numbers: minimum, maximum, multipleOf, and the range of a format.

import type { JSONSchemaProps } from './json-schema-props.ts';
import { formatDouble } from '#machinery/text/go-format.ts';
import { isInt64, passesForInteger } from './go-numbers.ts';
import * as field from '#machinery/validation/field.ts';
import {
  errorAt,
  invalidValue,
  schemaError,
  type ValueError,
  type ValueErrors,
} from './value-errors.ts';

const MAX_INT32 = 0x7fffffff;
const MAX_FLOAT32 = 3.4028235677973366e38;

export interface NumberRules {
  /** 'integer', 'number', or '' if the schema also allows other types. */
  readonly type: string;
  readonly format: string;
  readonly source: JSONSchemaProps;
}

/** The position of a value. The path is formatted only for errors. */
interface Located {
  readonly path: string;
}

/** Validates a number. */
export function validateNumber(
  { type, format, source }: NumberRules,
  value: number,
  at: Located,
  errors: ValueErrors,
): void {
  const inRange = (number: number, what: string): boolean => {
    if (fits(number, type, format)) return true;
    const expected = format === '' ? `${type} (default format)` : `${type} with format ${format}`;
    errors.add(schemaError(`${what} value must be of type ${expected} in ${at.path}`));
    return false;
  };
  inRange(value, 'Checked');
  const { multipleOf, minimum, maximum } = source;
  if (typeof multipleOf === 'number') {
    validateMultiple(
      value,
      multipleOf,
      inRange(multipleOf, 'MultipleOf') && isInt64(value),
      at,
      errors,
    );
  }
  if (typeof minimum === 'number') {
    const whole = inRange(minimum, 'Minimum boundary') && isInt64(value);
    const bound = whole ? Math.trunc(minimum) : minimum;
    const exclusive = source.exclusiveMinimum === true;
    if (value < bound || (exclusive && value === bound)) {
      const relation = exclusive ? 'greater than' : 'greater than or equal to';
      errors.add(
        outOfBounds(
          at.path,
          value,
          `${at.path} in body should be ${relation} ${shown(bound, whole)}`,
          whole,
        ),
      );
    }
  }
  if (typeof maximum === 'number') {
    const whole = inRange(maximum, 'Maximum boundary') && isInt64(value);
    const bound = whole ? Math.trunc(maximum) : maximum;
    const exclusive = source.exclusiveMaximum === true;
    if (value > bound || (exclusive && value === bound)) {
      const relation = exclusive ? 'less than' : 'less than or equal to';
      errors.add(
        outOfBounds(
          at.path,
          value,
          `${at.path} in body should be ${relation} ${shown(bound, whole)}`,
          whole,
        ),
      );
    }
  }
}

/** Checks multipleOf. `whole`: both are treated as integers, the factor without its fraction. */
function validateMultiple(
  value: number,
  factor: number,
  whole: boolean,
  at: Located,
  errors: ValueErrors,
): void {
  const divisor = whole ? Math.trunc(factor) : factor;
  if (divisor <= 0) {
    errors.add(
      invalidValue(
        at.path,
        divisor,
        `factor MultipleOf declared for ${at.path} must be positive: ${shown(divisor, whole)}`,
      ),
    );
    return;
  }
  const isMultiple = whole
    ? value % divisor === 0
    : passesForInteger(divisor < 1 ? (1 / divisor) * value : value / divisor);
  if (!isMultiple) {
    errors.add(
      outOfBounds(
        at.path,
        value,
        `${at.path} in body should be a multiple of ${shown(divisor, whole)}`,
        whole,
      ),
    );
  }
}

/**
 * Returns the error for a bound. If the bound does not fit the type, upstream compares doubles, and
 * shows the value as a double.
 */
function outOfBounds(name: string, value: number, message: string, whole: boolean): ValueError {
  if (whole || !isInt64(value)) return invalidValue(name, value, message);
  return errorAt(name, message, (at) =>
    field.invalid(at, field.omitValue, `${formatDouble(value)}: ${message}`),
  );
}

function shown(value: number, whole: boolean): string {
  return whole ? String(value) : formatDouble(value);
}

/**
 * Reports whether the number is of the type and format. Only a schema with a single type is
 * checked.
 */
function fits(value: number, type: string, format: string): boolean {
  if (type === 'integer') {
    if (!Number.isInteger(value)) return false;
    return format === 'int32'
      ? value >= -MAX_INT32 - 1 && value <= MAX_INT32
      : value >= -(2 ** 63) && value < 2 ** 63;
  }
  return type !== 'number' || format !== 'float' || Math.abs(value) < MAX_FLOAT32;
}
