// Compares evaluation costs with figures from the tests of cel-go and Kubernetes.
import { describe, expect, test } from 'vitest';
import { Budget } from './cost.ts';
import { Environment } from './environment.ts';
import { kubernetesLibraries } from './library/index.ts';
import { BOOL, DYN, INT, list, map, object, STRING, type Type } from './types.ts';

const struct = object('TestAllTypes', { single_int32: INT, single_string: STRING });
const TEXT_500 = 'x'.repeat(500);

interface Case {
  readonly expr: string;
  readonly cost: number;
  readonly variables?: Readonly<Record<string, Type>>;
  readonly input?: Readonly<Record<string, unknown>>;
}

function costOf({ expr, variables, input }: Omit<Case, 'cost'>, options = {}): number {
  const environment = new Environment({
    libraries: kubernetesLibraries,
    ...(variables !== undefined && { variables }),
  });
  const { program, error } = environment.compile(expr);
  if (program === undefined) throw error;
  return program.evaluate(input ?? {}, options).cost;
}

const strings = map(STRING, STRING);

const CASES: readonly Case[] = [
  { expr: '"Hello World!"', cost: 0 },
  { expr: 'input', cost: 1, variables: { input: list(INT) }, input: { input: [1, 2] } },
  { expr: "input['key']", cost: 2, variables: { input: strings }, input: { input: { key: 'v' } } },
  { expr: 'input[0]', cost: 2, variables: { input: list(STRING) }, input: { input: ['v'] } },
  {
    expr: 'input.single_int32',
    cost: 2,
    variables: { input: struct },
    input: { input: { single_int32: 1 } },
  },
  {
    expr: "input['ke' + 'y']",
    cost: 3,
    variables: { input: strings },
    input: { input: { key: 'v' } },
  },
  { expr: 'input[3-3]', cost: 3, variables: { input: list(STRING) }, input: { input: ['v'] } },
  // In Kubernetes, `has` costs nothing, but the path to the field does.
  { expr: 'has(input.single_int32)', cost: 0, variables: { input: struct }, input: { input: {} } },
  { expr: 'has(input.a.b)', cost: 1, variables: { input: DYN }, input: { input: { a: {} } } },
  // Nested literals are created when the expression is compiled.
  { expr: '[1, 2, 3]', cost: 0 },
  { expr: '{"a": 1, "b": 2, "c": 3}', cost: 0 },
  { expr: '[1 + 0]', cost: 11 },
  { expr: '{"a": 1 + 0}', cost: 31 },
  { expr: 'input.all(x, true)', cost: 2, variables: { input: list(struct) }, input: { input: [] } },
  { expr: '[1, 2, 3].all(x, true)', cost: 10 },
  {
    expr: "input.matches('[0-9]')",
    cost: 103,
    variables: { input: STRING },
    input: { input: TEXT_500 },
  },
  { expr: "'123'.matches('[0-9]')", cost: 2 },
  { expr: 'true || false', cost: 0 },
  {
    expr: 'a || b || c || d',
    cost: 4,
    variables: { a: BOOL, b: BOOL, c: BOOL, d: BOOL },
    input: { a: false, b: false, c: false, d: false },
  },
  { expr: '1 < 2', cost: 1 },
  { expr: '1 == 2', cost: 1 },
  { expr: '1 % 1', cost: 1 },
  { expr: 'true ? 1 : 2', cost: 0 },
  { expr: 'size("123")', cost: 1 },
  { expr: "'12345678901234567890' == '123456789012345678901234567890'", cost: 2 },
  { expr: 'bytes(input)', cost: 51, variables: { input: STRING }, input: { input: TEXT_500 } },
  {
    expr: 'input.contains(arg1)',
    cost: 2502,
    variables: { input: STRING, arg1: STRING },
    input: { input: TEXT_500, arg1: TEXT_500 },
  },
  {
    expr: 'input.startsWith(arg1)',
    cost: 3,
    variables: { input: STRING, arg1: STRING },
    input: { input: 'idc', arg1: TEXT_500 },
  },
  { expr: 'input.size()', cost: 2, variables: { input: STRING }, input: { input: '500' } },
  {
    expr: '(x > 2 ? input1 : input2).all(y, true)',
    cost: 6,
    variables: { x: INT, input1: list(struct), input2: list(struct) },
    input: { x: 1, input1: [{}], input2: [{}] },
  },
  { expr: 'false ? false : 1 > 3', cost: 1 },
  {
    expr: 'input.all(k, input[k].single_int32 > 3)',
    cost: 9,
    variables: { input: map(STRING, struct) },
    input: { input: { val: { single_int32: 1 } } },
  },
  { expr: "quantity('12Mi') == quantity('12Mi')", cost: 3 },
  { expr: "'abc'.indexOf('b')", cost: 0 },
  { expr: "'aaaaaaaaaaaaaaaaaaaa'.replace('a', 'b')", cost: 4 },
  { expr: "['aa', 'bb', 'cc'].join(' ')", cost: 2 },
];

describe('cost', () => {
  test.each(CASES)('of $expr', (it) => {
    expect(costOf(it)).toBe(it.cost);
  });

  test('does not depend on whether the expression fails', () => {
    expect(costOf({ expr: 'input.a.b', variables: { input: DYN }, input: { input: {} } })).toBe(2);
  });
});

describe('limits', () => {
  const environment = new Environment({ variables: { items: list(INT) } });
  const { program } = environment.compile('items.all(x, items.all(y, x + y >= 0)) || true');
  const items = Array.from({ length: 100 }, (_, index) => index);

  test('end an evaluation; no operator absorbs the error', () => {
    const result = program?.evaluate({ items }, { costLimit: 1000 });
    expect(result?.error).toMatchObject({
      message: 'operation cancelled: actual cost limit exceeded',
      reason: 'costLimitExceeded',
    });
    expect(result?.cost).toBeLessThan(1010);
    expect(program?.evaluate({ items }).value).toBe(true);
  });

  test('are shared by evaluations with a common budget', () => {
    const budget = new Budget(100_000);
    const first = program?.evaluate({ items }, { budget });
    expect(first?.value).toBe(true);
    expect(budget.remaining).toBe(100_000 - (first?.cost ?? 0));
    expect(program?.evaluate({ items }, { budget }).error?.reason).toBe('costLimitExceeded');
    expect(budget.exhausted).toBe(true);
  });
});
