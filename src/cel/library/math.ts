// math.greatest, math.least, rounding, signs, and bits.

import type { Expression } from '../ast.ts';
import { global, type Implementation, type Library, type Overload } from '../declarations.ts';
import { compare } from '../equality.ts';
import { evaluationError } from '../errors.ts';
import { MacroError, type Macro } from '../macros.ts';
import { BOOL, DOUBLE, DYN, INT, list, UINT, type Type } from '../types.ts';
import { Double, listItems, normalizeInt, Uint, type ListValue, type Value } from '../values.ts';

type Int = number | bigint;

const isMath = (target: Expression | undefined): boolean =>
  target?.kind === 'identifier' && target.name === 'math';
const isNumeric = (value: Value): boolean =>
  typeof value === 'number' ||
  typeof value === 'bigint' ||
  value instanceof Double ||
  value instanceof Uint;

/** Reports an argument that can be no number as a compile error. */
function checkArgument(name: string, argument: Expression): void {
  const isInvalid =
    (argument.kind === 'literal' && !isNumeric(argument.value)) ||
    ['list', 'map', 'struct'].includes(argument.kind);
  if (isInvalid)
    throw new MacroError(
      argument.offset,
      `math.${name}() simple literal arguments must be numeric`,
    );
}

/** Returns the macro math.greatest(a, b, …) or math.least: any number of arguments, or a list. */
function extreme(name: 'greatest' | 'least', internal: string): Macro {
  return {
    name,
    member: true,
    expand({ offset, target, arguments: args }) {
      if (!isMath(target)) return undefined;
      const call = (...given: Expression[]): Expression => ({
        kind: 'call',
        function: internal,
        arguments: given,
        offset,
      });
      if (args.length === 0)
        throw new MacroError(offset, `math.${name}() requires at least one argument`);
      if (args.length === 1) {
        const only = args[0]!;
        if (only.kind !== 'list') {
          checkArgument(name, only);
          return call(only);
        }
        if (only.elements.length === 0)
          throw new MacroError(only.offset, `math.${name}() invalid single argument value`);
        for (const element of only.elements) checkArgument(name, element);
        return call(only);
      }
      for (const argument of args) checkArgument(name, argument);
      if (args.length === 2) return call(...args);
      return call({ kind: 'list', elements: args, optionalIndices: new Set(), offset });
    },
  };
}

const NUMBERS: readonly [string, Type][] = [
  ['int', INT],
  ['double', DOUBLE],
  ['uint', UINT],
];

function extremeOverloads(name: string, better: (order: number) => boolean): Overload[] {
  const ofTwo = (a: Value, b: Value): Value => (better(compare(b, a) ?? 0) ? b : a);
  const ofList = (items: readonly unknown[] | ListValue): Value => {
    const values = listItems(items);
    if (values.length === 0)
      throw evaluationError(`math.@${name}(list) argument must not be empty`);
    for (const value of values) if (!isNumeric(value)) throw evaluationError('no such overload');
    return values.reduce(ofTwo);
  };
  const overloads: Overload[] = [];
  for (const [idA, a] of NUMBERS) {
    overloads.push(global(`math_@${name}_${idA}`, [a], a, (value: Value) => value));
    for (const [idB, b] of NUMBERS) {
      overloads.push(global(`math_@${name}_${idA}_${idB}`, [a, b], a === b ? a : DYN, ofTwo));
    }
    overloads.push(global(`math_@${name}_list_${idA}`, [list(a)], a, ofList));
  }
  return overloads;
}

const onDouble =
  (compute: (value: number) => number) =>
  (it: Double): Double =>
    new Double(compute(it.value));

/** Rounds half away from zero. */
const round = (value: number): number => {
  const rounded = Math.sign(value) * Math.floor(Math.abs(value));
  return Math.abs(value - rounded) >= 0.5 ? rounded + Math.sign(value) : rounded;
};

const absInt = (value: Int): Int => {
  if (value === -9223372036854775808n) throw evaluationError('integer overflow');
  return value < 0 ? -value : value;
};

const wrapInt = (value: bigint): Int => normalizeInt(BigInt.asIntN(64, value));
const wrapUint = (value: bigint): Uint => new Uint(BigInt.asUintN(64, value));

function bits(name: string, compute: (a: bigint, b: bigint) => bigint): Overload[] {
  return [
    global(`math_${name}_int_int`, [INT, INT], INT, (a: Int, b: Int) =>
      wrapInt(compute(BigInt(a), BigInt(b))),
    ),
    global(`math_${name}_uint_uint`, [UINT, UINT], UINT, (a: Uint, b: Uint) =>
      wrapUint(compute(a.value, b.value)),
    ),
  ];
}

/** Returns the overloads of a shift. Shifts of ints to the right fill up with zeros. */
function shifts(name: string, compute: (value: bigint, by: bigint) => bigint): Overload[] {
  const by = (count: Int): bigint => {
    if (count < 0) throw evaluationError(`math.${name}() negative offset: ${count}`);
    return count > 63 ? 64n : BigInt(count);
  };
  return [
    global(`math_${name}_int_int`, [INT, INT], INT, (a: Int, count: Int) =>
      wrapInt(compute(BigInt.asUintN(64, BigInt(a)), by(count))),
    ),
    global(`math_${name}_uint_int`, [UINT, INT], UINT, (a: Uint, count: Int) =>
      wrapUint(compute(a.value, by(count))),
    ),
  ];
}

const doubleTest = (name: string, call: Implementation): Overload[] => [
  global(`math_${name}_double`, [DOUBLE], BOOL, call),
];
const doubleFunction = (name: string, compute: (value: number) => number): Overload[] => [
  global(`math_${name}_double`, [DOUBLE], DOUBLE, onDouble(compute)),
];

export const mathLibrary: Library = {
  name: 'math',
  macros: [extreme('greatest', 'math.@max'), extreme('least', 'math.@min')],
  functions: {
    'math.@max': extremeOverloads('max', (order) => order > 0),
    'math.@min': extremeOverloads('min', (order) => order < 0),
    'math.ceil': doubleFunction('ceil', Math.ceil),
    'math.floor': doubleFunction('floor', Math.floor),
    'math.round': doubleFunction('round', round),
    'math.trunc': doubleFunction('trunc', Math.trunc),
    'math.abs': [
      ...doubleFunction('abs', Math.abs),
      global('math_abs_int', [INT], INT, absInt),
      global('math_abs_uint', [UINT], UINT, (value: Uint) => value),
    ],
    'math.sign': [
      ...doubleFunction('sign', Math.sign),
      global('math_sign_int', [INT], INT, (value: Int) => (value > 0 ? 1 : value < 0 ? -1 : 0)),
      global(
        'math_sign_uint',
        [UINT],
        UINT,
        (value: Uint) => new Uint(value.value === 0n ? 0n : 1n),
      ),
    ],
    'math.isNaN': doubleTest('is_nan', (it: Double) => Number.isNaN(it.value)),
    'math.isInf': doubleTest('is_inf', (it: Double) => Math.abs(it.value) === Infinity),
    'math.isFinite': doubleTest('is_finite', (it: Double) => Number.isFinite(it.value)),
    'math.bitAnd': bits('bitAnd', (a, b) => a & b),
    'math.bitOr': bits('bitOr', (a, b) => a | b),
    'math.bitXor': bits('bitXor', (a, b) => a ^ b),
    'math.bitNot': [
      global('math_bitNot_int', [INT], INT, (value: Int) => wrapInt(~BigInt(value))),
      global('math_bitNot_uint', [UINT], UINT, (value: Uint) => wrapUint(~value.value)),
    ],
    'math.bitShiftLeft': shifts('bitShiftLeft', (value, by) => value << by),
    'math.bitShiftRight': shifts('bitShiftRight', (value, by) => value >> by),
  },
};
