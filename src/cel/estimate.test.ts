// Estimated costs beside figures that Kubernetes' authors wrote into their tests, and beside what evaluating costs.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Environment } from './environment.ts';
import { kubernetesLibraries } from './library/index.ts';
import { typeOfSchema, type Schema } from './schema-types.ts';
import { BOOL, INT, list, STRING, type Type } from './types.ts';

const estimate = (source: string, variables: Readonly<Record<string, Type>> = {}) =>
  new Environment({ libraries: kubernetesLibraries, variables }).estimateCost(source);

describe('expressions of literals', () => {
  const CASES: readonly [string, number, number][] = [
    ['[1, 2, 3, 4, 5].sum()', 15, 15],
    ['[uint(1), uint(2), uint(3), uint(4), uint(5)].sum()', 20, 20],
    ["[duration('1s'), duration('2s')].max()", 14, 14],
    ["'01234567890123456789012345678901234567890123456789'.indexOf('123')", 5, 5],
    ["ip('192.168.0.1')", 2, 2],
    ["ip('2001:db8:3333:4444:5555:6666:7777:8888').family()", 5, 5],
    ["ip('192.168.0.1') == ip('192.168.0.1')", 5, 5],
    ["ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", 8, 8],
    ["cidr('192.168.0.0/16').ip()", 3, 3],
    ["cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))", 7, 11],
    ["cidr('192.168.0.0/16').containsIP(ip('192.0.0.1'))", 4, 7],
    ["url('https:://kubernetes.io/').getScheme()", 4, 4],
    ['true || 1 == 2', 0, 1],
    ['[1, 2, 3].all(x, true)', 20, 20],
    ['false ? 1 + 1 : 2', 0, 1],
  ];

  test.each(CASES)('%s', (source, min, max) => {
    expect(estimate(source)).toEqual({ min, max });
  });
});

describe('rules over schemas', () => {
  const numbers = (maxItems?: number): Schema => ({
    type: 'array',
    items: { type: 'number' },
    ...(maxItems !== undefined && { maxItems }),
  });
  const CASES: readonly [string, Schema, string, number][] = [
    ['numbers', numbers(), 'self.all(x, true)', 4718591],
    ['ten numbers', numbers(10), 'self.all(x, true)', 32],
    ['texts', { type: 'array', items: { type: 'string' } }, 'self.all(x, true)', 3145727],
    ['a map of numbers', { type: 'object', additionalProperties: { type: 'number' } }, 'self.all(x, true)', 1348169],
    ['a map of texts', { type: 'object', additionalProperties: { type: 'string' } }, 'self.all(x, true)', 1179647],
    ['a text', { type: 'string' }, "self.contains('test')", 314574],
    ['a text', { type: 'string' }, "self.matches('x')", 314574],
    ['a short text', { type: 'string', maxLength: 10 }, "self.contains('test')", 5],
    ['a text', { type: 'string' }, "self.split('abc') == []", 629147 + 10],
    [
      'a nested list',
      { type: 'array', maxItems: 5, items: numbers(7) },
      'self.all(x, x.all(y, y > 1.0))',
      2 + 5 * (3 + 2 + 7 * (3 + 2)),
    ],
    [
      'a field of an enum',
      { type: 'object', properties: { mode: { type: 'string', enum: ['fast', 'thorough'] } } },
      "self.mode.startsWith('a')",
      3,
    ],
  ];

  test.each(CASES)('%s: %s: %s', (_, schema, source, max) => {
    expect(estimate(source, { self: typeOfSchema(schema, 'self') as Type }).max).toBe(max);
  });
});

test('what evaluating costs lies within what was estimated', () => {
  const variables = { a: { ...list(INT), maxItems: 8 }, s: { kind: 'string', maxLength: 40 } as Type, b: BOOL, t: list(STRING) };
  const environment = new Environment({ libraries: kubernetesLibraries, variables });
  const truth = fc.letrec((tie) => ({
    bool: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('true', 'b', 's == "x"', 's.startsWith("ab")', 'a == [1]', '1 in a', 's.contains("abc")', 'a.size() > 2'),
      fc.tuple(tie('bool'), tie('bool')).map(([x, y]) => `(${x as string} && ${y as string})`),
      fc.tuple(tie('bool'), tie('bool')).map(([x, y]) => `(${x as string} || ${y as string})`),
      tie('bool').map((x) => `!(${x as string})`),
      tie('bool').map((x) => `a.all(x, x > 2 || ${x as string})`),
      tie('bool').map((x) => `a.filter(x, ${x as string}).size() == 1`),
      tie('bool').map((x) => `a.map(x, x + 1).exists(y, ${x as string} && y < 3)`),
      fc.tuple(tie('bool'), tie('bool')).map(([x, y]) => `(${x as string} ? ${y as string} : s.lowerAscii() < "abc")`),
    ),
  })).bool;
  fc.assert(
    fc.property(
      truth,
      fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 8 }),
      fc.string({ maxLength: 40, unit: 'grapheme-ascii' }),
      (source, a, s) => {
        const { program, error } = environment.compile(source);
        if (program === undefined) throw error;
        const { cost } = program.evaluate({ a, s, b: true }, { costLimit: Infinity });
        const { max } = environment.estimateCost(source);
        expect(cost).toBeLessThanOrEqual(max);
      },
    ),
    { numRuns: 300 },
  );
});
