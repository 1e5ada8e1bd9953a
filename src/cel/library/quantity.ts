// Kubernetes' quantities: quantity('1.5Gi'), isQuantity, arithmetic and comparison.

import {
  newQuantity,
  parseQuantity,
  tryParseQuantity,
  QuantityError,
  type Quantity,
} from '#machinery/text/quantity.ts';
import { traversesFirst } from '../cost.ts';
import { global, member, type Library } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { BOOL, DOUBLE, INT, opaque, STRING, typeOf, type Type } from '../types.ts';
import { Double, normalizeInt, OpaqueValue, TypeValue } from '../values.ts';

type Int = number | bigint;

export const QUANTITY = opaque('kubernetes.Quantity');

export class QuantityValue extends OpaqueValue {
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  get type(): Type {
    return QUANTITY;
  }

  equals(other: QuantityValue): boolean {
    return this.quantity.equals(other.quantity);
  }
}

function parse(text: string): QuantityValue {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    throw evaluationError(error.message);
  }
}

/** Returns the integer value; undefined if it has a fraction, or needs more than 64 bits. */
function wholeValue({ quantity }: QuantityValue): Int | undefined {
  const value = quantity.scaledValueExact(0);
  return newQuantity(value, 'DecimalSI').equals(quantity) ? normalizeInt(value) : undefined;
}

function asInteger(it: QuantityValue): Int {
  const value = wholeValue(it);
  if (value === undefined) throw evaluationError('cannot convert value to integer');
  return value;
}

const ofInt = (value: Int): Quantity => newQuantity(value, 'DecimalExponent');
const compare = (a: QuantityValue, b: QuantityValue): -1 | 0 | 1 => a.quantity.cmp(b.quantity);

export const quantityLibrary: Library = {
  name: 'kubernetes.quantity',
  constants: {
    'kubernetes.Quantity': { type: typeOf(QUANTITY), value: new TypeValue('kubernetes.Quantity') },
  },
  functions: {
    quantity: [global('string_to_quantity', [STRING], QUANTITY, parse, traversesFirst)],
    isQuantity: [
      global(
        'is_quantity_string',
        [STRING],
        BOOL,
        (text: string) => tryParseQuantity(text) !== undefined,
        traversesFirst,
      ),
    ],
    sign: [global('quantity_sign', [QUANTITY], INT, (it: QuantityValue) => it.quantity.sign())],
    isInteger: [
      member(
        'quantity_is_integer',
        [QUANTITY],
        BOOL,
        (it: QuantityValue) => wholeValue(it) !== undefined,
      ),
    ],
    asInteger: [member('quantity_get_int', [QUANTITY], INT, asInteger)],
    asApproximateFloat: [
      member(
        'quantity_get_float',
        [QUANTITY],
        DOUBLE,
        (it: QuantityValue) => new Double(it.quantity.toNumber()),
      ),
    ],
    add: [
      member(
        'quantity_add',
        [QUANTITY, QUANTITY],
        QUANTITY,
        (a: QuantityValue, b: QuantityValue) => new QuantityValue(a.quantity.add(b.quantity)),
      ),
      member(
        'quantity_add_int',
        [QUANTITY, INT],
        QUANTITY,
        (a: QuantityValue, b: Int) => new QuantityValue(a.quantity.add(ofInt(b))),
      ),
    ],
    sub: [
      member(
        'quantity_sub',
        [QUANTITY, QUANTITY],
        QUANTITY,
        (a: QuantityValue, b: QuantityValue) => new QuantityValue(a.quantity.sub(b.quantity)),
      ),
      member(
        'quantity_sub_int',
        [QUANTITY, INT],
        QUANTITY,
        (a: QuantityValue, b: Int) => new QuantityValue(a.quantity.sub(ofInt(b))),
      ),
    ],
    isGreaterThan: [
      member(
        'quantity_is_greater_than',
        [QUANTITY, QUANTITY],
        BOOL,
        (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0,
      ),
    ],
    isLessThan: [
      member(
        'quantity_is_less_than',
        [QUANTITY, QUANTITY],
        BOOL,
        (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0,
      ),
    ],
    compareTo: [member('quantity_compare_to', [QUANTITY, QUANTITY], INT, compare)],
  },
};
