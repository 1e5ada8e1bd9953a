// Hostile input: small expressions with expensive evaluation, and texts that are not expressions.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toJson } from './adapt.ts';
import { Environment } from './environment.ts';
import { EvaluationError } from './errors.ts';
import { allLibraries } from './library/index.ts';
import { DYN } from './types.ts';

const environment = new Environment({ libraries: allLibraries, variables: { object: DYN } });

function run(source: string, object: unknown = {}) {
  const { program, error } = environment.compile(source);
  if (program === undefined) throw error;
  return program.evaluate({ object });
}

test.each(['constructor', '__proto__', 'toString'])('double(%j) is an error', (text) => {
  expect(run(`double('${text}')`).error).toBeInstanceOf(EvaluationError);
});

/** Returns the elapsed processor time: other processes may be running. */
function secondsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

/**
 * Returns an expression that binds `first` to a name, then the result of `next` to the next name,
 * and so on.
 */
function chain(
  first: string,
  next: (name: string) => string,
  length: number,
  last: (name: string) => string,
): string {
  let source = last(`v${length - 1}`);
  for (let index = length - 1; index >= 0; index--) {
    source = `cel.bind(v${index}, ${index === 0 ? first : next(`v${index - 1}`)}, ${source})`;
  }
  return source;
}

describe('a small expression', () => {
  const CASES: readonly [string, string][] = [
    [
      'doubles a list',
      chain(
        '[1, 2]',
        (v) => `${v} + ${v}`,
        60,
        (v) => `${v}.size()`,
      ),
    ],
    [
      'looks for an item in a doubled list',
      chain(
        '[1, 2]',
        (v) => `${v} + ${v}`,
        22,
        (v) => `3 in ${v}`,
      ),
    ],
    [
      'compares sets of doubled lists',
      chain(
        '[1, 2]',
        (v) => `${v} + ${v}`,
        20,
        (v) => `sets.contains(${v}, [3] + ${v})`,
      ),
    ],
    [
      'doubles a text',
      chain(
        '"ab"',
        (v) => `${v} + ${v}`,
        60,
        (v) => `${v}.size()`,
      ),
    ],
    [
      'replaces nothing by much',
      chain(
        '"aaaaaaaaaa"',
        (v) => `${v}.replace("", ${v})`,
        12,
        (v) => `${v}.size()`,
      ),
    ],
    [
      'joins by much',
      chain(
        '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
        (v) => `${v}.split("").join(${v})`,
        12,
        (v) => `${v}.size()`,
      ),
    ],
    [
      'compares what holds itself many times',
      `[${chain(
        '[1]',
        (v) => `[${v}, ${v}]`,
        60,
        (v) => v,
      )}].all(a, a == dyn(a))`,
    ],
    [
      'writes what holds itself many times',
      chain(
        '[1]',
        (v) => `[${v}, ${v}]`,
        60,
        (v) => `"%s".format([${v}])`,
      ),
    ],
    [
      'writes a map that holds itself',
      chain(
        '{"a": 1}',
        (v) => `{"a": ${v}, "b": ${v}}`,
        60,
        (v) => `"%s".format([${v}])`,
      ),
    ],
    [
      'nests loops',
      `[1,2,3,4,5,6,7,8,9,10]${'.map(x, [1,2,3,4,5,6,7,8,9,10]'.repeat(12)}${')'.repeat(12)}`,
    ],
    [
      'raises to powers',
      chain(
        '2',
        (v) => `${v} * ${v}`,
        20,
        (v) => v,
      ),
    ],
  ];

  test.each(CASES)('that %s fails quickly', (_, source) => {
    const dynamic = new Environment({
      libraries: allLibraries,
      variables: { object: DYN },
      homogeneousLiterals: false,
    });
    const { program, error } = dynamic.compile(source);
    if (program === undefined) throw error;
    const began = process.cpuUsage();
    expect(program.evaluate({}).error).toBeInstanceOf(EvaluationError);
    expect(secondsSince(began)).toBeLessThan(4.5);
  });

  test('whose result is larger than its memory has no JSON form', () => {
    const dynamic = new Environment({ libraries: allLibraries, homogeneousLiterals: false });
    const { program } = dynamic.compile(
      chain(
        '[1]',
        (v) => `[${v}, ${v}]`,
        60,
        (v) => v,
      ),
    );
    const result = program?.evaluate({});
    expect(result?.error).toBeUndefined();
    expect(() => toJson(result?.value)).toThrow(EvaluationError);
  });

  test('with a pattern for exponential backtracking takes linear time', () => {
    const began = process.cpuUsage();
    expect(run(`"${'a'.repeat(2000)}!".matches("^(a+)+$")`).value).toBe(false);
    expect(
      environment.compile('"a".matches("((a{1,1000}){1,1000}){1,1000}")').error?.message,
    ).toContain('invalid matches argument');
    expect(secondsSince(began)).toBeLessThan(3);
  });

  describe('that traverses a large object in each turn of a loop', () => {
    const keys = Array.from({ length: 3000 }, (_, i) => `k${i}`);
    const nested = { data: Object.fromEntries(keys.map((key) => [key, 'value'])) };
    const object = { items: keys, nested, same: { data: { ...nested.data } } };

    test.each([
      'object.items.all(k, "%s".format([object.nested]).size() > 0)',
      'object.items.all(k, object.nested == object.same)',
    ])('%s fails quickly', (source) => {
      const began = process.cpuUsage();
      expect(run(source, object).error?.message).toContain('cost limit exceeded');
      expect(secondsSince(began)).toBeLessThan(2);
    });
  });

  test('counts a long text once', () => {
    const began = process.cpuUsage();
    const text = 'ä'.repeat(1_500_000);
    expect(
      run(`object.items.all(x, object.text.size() > x)`, {
        items: Array.from({ length: 2000 }, (_, i) => i),
        text,
      }).value,
    ).toBe(true);
    expect(secondsSince(began)).toBeLessThan(1.5);
  });
});

test('__proto__ is an ordinary key', () => {
  expect(run('object.__proto__').error?.message).toBe('no such key: __proto__');
  expect(run('has(object.constructor) || "toString" in object').value).toBe(false);
  const { value } = run('{"__proto__": 1}["__proto__"] == 1 && !has(object.hasOwnProperty)');
  expect(value).toBe(true);
  expect(JSON.stringify(toJson(run('{"__proto__": {"a": 1}}').value))).toBe(
    '{"__proto__":{"a":1}}',
  );
  expect(({} as Record<string, unknown>).a).toBeUndefined();
});

test('a long invalid text is rejected quickly', () => {
  const began = process.cpuUsage();
  for (const source of [
    '@'.repeat(100_000),
    '"'.repeat(99_999),
    `${'a + '.repeat(200)}b`,
    `[${'a,'.repeat(45_000)}]`,
    '('.repeat(100_000),
  ]) {
    expect(environment.compile(source).error?.message.length).toBeLessThan(200_000);
  }
  expect(environment.compile('a'.repeat(100_001)).error?.message).toContain('exceeds limit');
  expect(secondsSince(began)).toBeLessThan(5);
});

describe('the type checker', () => {
  test('rejects huge types', () => {
    const began = process.cpuUsage();
    const source = chain(
      '{1: 1}',
      (v) => `{${v}: ${v}}`,
      60,
      (v) => `${v} == ${v}`,
    );
    expect(environment.compile(source).error?.message).toContain(
      'type of the expression is too complex',
    );
    const loops = `${'[1].map(a, {a: a}).map(b, '.repeat(40)}1${')'.repeat(40)}`;
    expect(environment.compile(loops).error).toBeUndefined();
    expect(secondsSince(began)).toBeLessThan(3);
  });

  test('takes linear time', () => {
    const began = process.cpuUsage();
    for (const item of ['1==1', '[]+[]', 'x.y<z', 'size([])']) {
      const wide = `[${Array.from({ length: 3000 }, () => item).join(',')}]`;
      const { error } = new Environment({
        libraries: allLibraries,
        variables: { x: DYN, z: DYN },
      }).compile(wide);
      expect(error).toBeUndefined();
    }
    expect(secondsSince(began)).toBeLessThan(8);
  });
});

describe('any text', () => {
  const PIECES = [
    (
      `1 2u -3 1.5 "a" 'b' b"c" true null object x size has all map in _ + - * / % == != < ` +
      '<= > >= && || ! ? : , . ( ) [ ] { }'
    ).split(' '),
    `?. \` " \\ // é \u{1F600} \ud800 @ 0x 1e .? [? r" """ cel.bind optional.of`.split(' '),
    [' ', '\n'],
  ].flat();

  const check = (source: string): void => {
    const { program, error } = environment.compile(source);
    if (program === undefined) {
      expect(error.issues.length, source).toBeGreaterThan(0);
      for (const { offset } of error.issues) expect(offset).toBeLessThanOrEqual(source.length);
    } else {
      const result = program.evaluate({ object: { a: [1, { b: 'c' }], d: 1.5 } });
      if (result.error !== undefined) expect(result.error).toBeInstanceOf(EvaluationError);
    }
    environment.compile(source, { unchecked: true }).program?.evaluate({ object: { a: 1 } });
  };

  test('of two pieces is an expression or an error with a position', () => {
    for (const first of PIECES) for (const second of PIECES) check(first + second);
  });

  test('is an expression or an error with a position', () => {
    const sources = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }).map((pieces) => pieces.join('')),
    );
    fc.assert(fc.property(sources, check), { numRuns: 250 });
  });
});
