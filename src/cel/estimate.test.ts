// Compares estimated costs with figures from Kubernetes' tests, and with the cost of evaluation.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Environment } from './environment.ts';
import { AUTHORIZER, authorizerValue } from './library/authorizer.ts';
import { kubernetesLibraries, patchLibrary } from './library/index.ts';
import { typeOfSchema, type Schema } from './schema-types.ts';
import { BOOL, INT, list, STRING, type Type } from './types.ts';

const estimate = (source: string, variables: Readonly<Record<string, Type>> = {}) =>
  new Environment({ libraries: kubernetesLibraries, variables }).estimateCost(source);

describe('expressions of literals', () => {
  // The expression, the estimated minimum and maximum, and upstream's cost of evaluation. The last
  // figure is the part of that cost for list and map literals: they are created when the expression
  // is compiled, here and in upstream's server (but not in its tests).
  const CASES: readonly [string, number, number, number, number?][] = [
    ['[1, 2, 3, 4, 5].sum()', 15, 15, 15, 10],
    ['[uint(1), uint(2), uint(3), uint(4), uint(5)].sum()', 20, 20, 20, 15],
    ["[duration('1s'), duration('2s')].max()", 14, 14, 14, 12],
    ["'01234567890123456789012345678901234567890123456789'.indexOf('123')", 5, 5, 5],
    ["ip('192.168.0.1')", 2, 2, 2],
    ["ip('2001:db8:3333:4444:5555:6666:7777:8888').family()", 5, 5, 5],
    ["ip('192.168.0.1') == ip('192.168.0.1')", 5, 5, 5],
    ["ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", 8, 8, 8],
    ["ip.isCanonical('192.168.0.1')", 3, 3, 3],
    ["cidr('192.168.0.0/16').ip()", 3, 3, 3],
    ["cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))", 7, 11, 7],
    ["cidr('192.168.0.0/16').containsCIDR('192.168.0.0/16')", 7, 11, 7],
    ["cidr('192.168.0.0/16').containsIP(ip('192.0.0.1'))", 4, 7, 4],
    ["cidr('192.168.0.0/16').containsIP('192.169.0.1')", 5, 8, 5],
    ["url('https:://kubernetes.io/').getScheme()", 4, 4, 4],
    ["'abc 123 def 123'.replace('123', '456', 1)", 3, 3, 3],
    ["'abc 123 def 123'.split(' ', 1)", 3, 3, 3],
    ["'abc 123 def 123'.substring(5, 8)", 2, 2, 2],
    ["'  abc 123 def 123  '.trim()", 2, 2, 2],
    ["'abc 123 def 123'.find('123')", 2, 2, 2],
    ["'abc 123 def 123'.findAll('123', 1)", 2, 2, 2],
    ["jsonpatch.escapeKey('abc/def~ abc/def~')", 2, 2, 2],
    ['quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M")', 3, 6, 6],
    ['quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger() > 0', 7, 7, 7],
    ['quantity("50.703k").asApproximateFloat() > 0.0', 3, 3, 3],
    ['format.named("dns1123Subdomain").value().validate("my-name")', 34, 34, 17],
    ['format.named("dns1123Label").value().validate("my-name")', 34, 34, 10],
    ['sets.contains([], [])', 21, 21, 21, 20],
    ['sets.contains([1, 2, 3, 4], [2, 3])', 29, 29, 29, 20],
    ['sets.contains([[1], [2, 3]], [[2, 3]])', 53, 53, 53, 50],
    ['sets.equivalent([1, 2, 3], [3, 2, 1])', 39, 39, 39, 20],
    ['!sets.equivalent([1], [1, 2])', 26, 26, 26, 20],
    ['sets.intersects([1, 2], [2, 2, 2])', 27, 27, 27, 20],
    ['semver("1234.56789012345.67890123456789")', 4, 4, 4],
    ['semver("1.0.0").isLessThan(semver("1.1.0"))', 3, 3, 3],
    ["{'a': 1, 'b': 2}.all(k, v, v > 0)", 37, 41, 41, 30],
    ["{'a': 1, 'b': 2}.exists(k, v, v > 0)", 39, 43, 40, 30],
    ["{'a': 1, 'b': 2}.existsOne(k, v, v > 0)", 38, 40, 40, 30],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", 71, 71, 71, 60],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1)", 67, 75, 75, 60],
    ["{'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1})", 131, 131, 131, 60],
    ["{'a': 1, 'b': 2}.transformMapEntry(k, v, v < 5, {k: v + 1})", 67, 135, 135, 60],
    ['[1, 2].all(i, v, v > 0)', 17, 21, 21, 10],
    ['[1, 2].exists(i, v, v > 0)', 19, 23, 20, 10],
    ['[1, 2].transformList(i, v, v + 1)', 49, 49, 49, 20],
    ['[1, 2].transformList(i, v, v < 5, v + 1)', 27, 53, 53, 20],
    ['[1, 2, 3].all(x, true)', 20, 20, 20, 10],
    ["authorizer.path('/healthz').check('get').allowed()", 350003, 350003, 350003],
    [
      "authorizer.group('').resource('pods').fieldSelector('spec." +
        "nodeName=example-node-name.fully.qualified.domain.name.example.com')",
      1821,
      1821,
      1821,
    ],
    [
      "authorizer.group('apps').resource('deployments').subresource('status')." +
        "namespace('test').name('backend').check('create').error()",
      350007,
      350007,
      350007,
    ],
    ['true || 1 == 2', 0, 1, 0],
    ['false ? 1 + 1 : 2', 0, 1, 0],
  ];

  const authorizer = authorizerValue({ authorize: () => ({ allowed: true, reason: '' }) });
  const environment = new Environment({
    libraries: [...kubernetesLibraries, patchLibrary],
    variables: { authorizer: AUTHORIZER },
  });

  test.each(CASES)('%s', (source, min, max, cost, folded = 0) => {
    expect(environment.estimateCost(source)).toEqual({ min, max });
    expect(environment.compile(source).program?.evaluate({ authorizer })).toMatchObject({
      cost: cost - folded,
    });
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
    [
      'a map of numbers',
      { type: 'object', additionalProperties: { type: 'number' } },
      'self.all(x, true)',
      1348169,
    ],
    [
      'a map of texts',
      { type: 'object', additionalProperties: { type: 'string' } },
      'self.all(x, true)',
      1179647,
    ],
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
    expect(estimate(source, { self: typeOfSchema(schema, 'self')! }).max).toBe(max);
  });
});

test('the cost of evaluation is within the estimate', () => {
  const variables = {
    a: { ...list(INT), maxItems: 8 },
    s: { kind: 'string', maxLength: 40 } as Type,
    b: BOOL,
    t: list(STRING),
  };
  const environment = new Environment({ libraries: kubernetesLibraries, variables });
  const truth = fc.letrec((tie) => ({
    bool: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(
        'true',
        'b',
        's == "x"',
        's.startsWith("ab")',
        'a == [1]',
        '1 in a',
        's.contains("abc")',
        'a.size() > 2',
      ),
      fc.tuple(tie('bool'), tie('bool')).map(([x, y]) => `(${x as string} && ${y as string})`),
      fc.tuple(tie('bool'), tie('bool')).map(([x, y]) => `(${x as string} || ${y as string})`),
      tie('bool').map((x) => `!(${x as string})`),
      tie('bool').map((x) => `a.all(x, x > 2 || ${x as string})`),
      tie('bool').map((x) => `a.filter(x, ${x as string}).size() == 1`),
      tie('bool').map((x) => `a.map(x, x + 1).exists(y, ${x as string} && y < 3)`),
      fc
        .tuple(tie('bool'), tie('bool'))
        .map(([x, y]) => `(${x as string} ? ${y as string} : s.lowerAscii() < "abc")`),
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
