// Evaluations in steps: each does a bounded amount of work, and the result and the cost are those of
// an evaluation in one turn.
import { describe, expect, test } from 'vitest';
import { Environment } from './environment.ts';
import { Budget } from './cost.ts';
import { member, type Library } from './declarations.ts';
import { LazyMap } from './lazy-map.ts';
import { allLibraries } from './library/index.ts';
import type { EvaluateOptions, Program } from './program.ts';
import { DYN, INT } from './types.ts';

/** The number of calls of `counted`. */
let calls = 0;
const counting: Library = {
  name: 'test.counting',
  functions: {
    counted: [
      member('counted', [INT], INT, (value: number) => {
        calls++;
        return value;
      }),
    ],
  },
};
const environment = new Environment({
  libraries: [...allLibraries, counting],
  variables: { object: DYN },
});

function compile(source: string): Program {
  const { program, error } = environment.compile(source);
  if (program === undefined) throw error;
  return program;
}

/** Evaluates in steps. Returns also the number of steps, and the most calls of `counted` in one. */
function inSteps(program: Program, object: unknown, options?: EvaluateOptions) {
  const steps = program.evaluateInSteps({ object }, options);
  const perStep: number[] = [];
  for (;;) {
    calls = 0;
    const { done, value } = steps.next();
    perStep.push(calls);
    if (done === true)
      return { evaluation: value, steps: perStep.length, most: Math.max(...perStep) };
  }
}

const numbers = Array.from({ length: 300 }, (_, index) => index);
const named = Object.fromEntries(numbers.map((number) => [`key-${number}`, { number }]));
const object = { numbers, named };
/** A smaller object, for steps of a single item. */
const few = {
  numbers: numbers.slice(0, 20),
  named: Object.fromEntries(Object.entries(named).slice(0, 20)),
  text: 'abc-'.repeat(300),
};

describe('the result is the same in any number of steps', () => {
  test.each([
    'object.numbers.all(x, object.numbers.all(y, x + y >= 0))',
    'object.numbers.exists(x, object.numbers.exists(y, x * y == 361))',
    'object.numbers.exists_one(x, object.numbers.all(y, x <= y))',
    'object.numbers.map(x, object.numbers.filter(y, y < x).size()).sum()',
    'object.numbers.map(x, x % 2 == 0, x * 2).size() + object.numbers.filter(x, x > 3).size()',
    'object.named.all(key, object.named.exists(other, object.named[other].number > 18))',
    'object.named.all(key, value, value.number >= 0 && key.startsWith("key"))',
    'object.named.transformMap(key, value, object.numbers.exists(x, x == value.number)).size()',
    'object.numbers.transformList(i, x, object.numbers.all(y, y >= 0) ? x + i : 0)',
    'cel.bind(all, object.numbers.map(x, x + 1), all.map(x, all.indexOf(x)) == object.numbers)',
    'object.numbers.all(x, object.missing > x) || object.numbers.all(x, x >= 0)',
    'object.numbers.exists(x, object.numbers[x + 1] == 5) && object.numbers.all(x, x < 10)',
    'object.numbers.map(x, object.numbers[x + 1])',
    'object.text.split("-").map(x, x.upperAscii()).filter(x, x.matches("[A-C]+")).size()',
    'object.text.replace("a", "b").size() + object.text.replace("b", "c").size()',
    'object.?numbers.optMap(all, all.map(x, [x, object.numbers.filter(y, y == x)[0]])).orValue([])',
    '[object == object, object != object, object.numbers == object.numbers + [1]]',
    'object.numbers.all(x, object.numbers.all(y, object.numbers.all(z, x + y + z >= 0)))',
    '"%s %d".format([object.numbers, object.numbers.size()])',
    'object.numbers.all(x, object.numbers[x].size() > 0)',
  ])('%s', (source) => {
    const program = compile(source);
    const expected = program.evaluate({ object: few });
    for (const turnWork of [1, 37, 200]) {
      const { evaluation, steps } = inSteps(program, few, { turnWork });
      expect(evaluation).toEqual(expected);
      if (turnWork === 1) expect(steps).toBeGreaterThan(1);
    }
  });
});

describe('a step is short', () => {
  test.each([
    'object.numbers.all(x, object.numbers.all(y, object.numbers.all(z, x.counted() >= 0)))',
    'object.named.all(x, object.named.all(y, object.named.all(z, object.named[z].number.counted() >= 0)))',
    'object.numbers.map(x, object.numbers.map(y, x.counted())).size() > 0',
    'cel.bind(v, object.numbers.map(x, object.numbers.map(y, x.counted())), v).size() > 0',
  ])('%s', (source) => {
    const program = compile(source);
    calls = 0;
    program.evaluate({ object });
    const all = calls;
    const { steps, most } = inSteps(program, object, { turnWork: 10_000 });
    expect(all).toBeGreaterThan(50_000);
    // Each call costs 1, and so does each of the other steps.
    expect(most).toBeLessThan(10_000);
    expect(steps).toBeGreaterThan(all / 10_000);
  });

  test('many calls outside of loops are not repeated in vain', () => {
    const costly = '[object.numbers.sum(), object.numbers.sum()].map(x, x.counted())[0] > 0';
    const program = compile(Array.from({ length: 400 }, () => costly).join(' && '));
    calls = 0;
    const steps = program.evaluateInSteps({ object }, { turnWork: 5000 });
    while (steps.next().done !== true);
    expect(calls).toBeLessThan(2 * 800);
  });

  test('a pattern that is no literal counts for the length of a step', () => {
    const patterns = numbers.map((number) => `a{${number}}b`);
    const program = compile('object.all(x, "text".matches(x + "c") || true)');
    expect(inSteps(program, patterns).steps).toBeGreaterThan(5);
  });
});

test('a lazy value continues where its own evaluation was suspended', () => {
  const variable = compile(
    'object.numbers.map(x, object.numbers.exists(y, x.counted() < 0)).size()',
  );
  const program = compile('object.variable > 0 && object.variable <= object.numbers.size()');
  const budget = new Budget();
  const wanted = variable.evaluate({ object });
  let run: ReturnType<Program['start']> | undefined;
  const lazy = new LazyMap(
    new Map<string, () => unknown>([
      ['numbers', () => numbers],
      [
        'variable',
        () => (run ??= variable.start({ object }, { budget, turnWork: 5000 })).proceed().value,
      ],
    ]),
  );
  calls = 0;
  const steps = program.evaluateInSteps({ object: lazy }, { budget, turnWork: 5000 });
  let result = steps.next();
  while (result.done !== true) result = steps.next();
  expect(result.value.value).toBe(true);
  expect(calls).toBeLessThan(1.2 * 90_000);
  const spent = new Budget().remaining - budget.remaining;
  expect(spent).toBe(wanted.cost + result.value.cost);
});

test('a failure does not hide that the limit is exceeded', () => {
  const program = compile('object.missing || object.numbers.all(x, x.counted() >= 0)');
  calls = 0;
  const { error } = program.evaluate({ object }, { costLimit: 100 });
  expect(error?.reason).toBe('costLimitExceeded');
  expect(calls).toBeLessThan(100);
});

test('white space inside of a text is trimmed in linear time', () => {
  const text = `a${' '.repeat(200_000)}b${' '.repeat(200_000)}`;
  expect(compile('object.trim().size()').evaluate({ object: text }).value).toBe(200_002);
});

test.each([
  ['double(object)', `${'1'.repeat(1_000_000)}!`],
  ['int(object)', '1'.repeat(1_000_000)],
  ['uint(object)', '1'.repeat(1_000_000)],
])('%s of a million digits is rejected at once', (source, digits) => {
  expect(compile(source).evaluate({ object: digits }).error?.reason).toBe('error');
});

test.each(['isURL(object)', 'duration(object) > duration("1s")'])(
  '%s counts the characters that it reads',
  (source) => {
    const text = `http://${' '.repeat(1_000_000)}`;
    const program = compile(`${Array.from({ length: 20 }, () => source).join(' || ')} || true`);
    expect(program.evaluate({ object: text }).error?.reason).toBe('costLimitExceeded');
    expect(inSteps(program, text).steps).toBeGreaterThan(5);
  },
);

test('a pattern with a huge program is an error', () => {
  const { error } = compile('"a".matches(object)').evaluate({ object: 'a{1000}'.repeat(100) });
  expect(error?.message).toBe('error parsing regexp: expression too large');
});
