// Compares random expressions with another evaluator of the same language: both must return the
// same value, or both an error.
import {
  celEnv,
  celUint,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  parse,
  plan,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Environment } from './environment.ts';
import { stringLibrary } from './library/strings.ts';
import { BOOL, DOUBLE, INT, list, map, STRING, UINT } from './types.ts';
import {
  Double,
  Duration,
  isList,
  isMap,
  isPlainObject,
  listItems,
  mapGet,
  mapKeys,
  Timestamp,
  Uint,
  type Value,
} from './values.ts';

const environment = new Environment({
  libraries: [stringLibrary],
  variables: { i: INT, u: UINT, d: DOUBLE, b: BOOL, s: STRING, l: list(INT), m: map(STRING, INT) },
  homogeneousLiterals: false,
});

const { expression } = fc.letrec<
  Record<'expression' | 'int' | 'uint' | 'double' | 'bool' | 'string' | 'list' | 'map', string>
>((tie) => {
  const either = (...arbitraries: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc.oneof({ maxDepth: 4, withCrossShrink: true }, ...arbitraries);
  /** Fills the gaps of a template with expressions. */
  const fill = (template: string, ...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc
      .tuple(...parts)
      .map((filled) =>
        template.split('§').reduce((text, rest, index) => text + String(filled[index - 1]) + rest),
      );
  const { int, uint, double, bool, string, list, map } = Object.fromEntries(
    ['int', 'uint', 'double', 'bool', 'string', 'list', 'map'].map((name) => [
      name,
      tie(name as 'int'),
    ]),
  ) as Record<'int' | 'uint' | 'double' | 'bool' | 'string' | 'list' | 'map', fc.Arbitrary<string>>;
  const any = fc.oneof(int, uint, double, bool, string, list, map);
  const arithmetic = fc.constantFrom('+', '-', '*', '/');
  const comparison = fc.constantFrom('<', '<=', '>', '>=', '==', '!=');
  const big = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }).map(String);
  return {
    expression: any,
    int: either(
      fc.constantFrom(
        'i',
        '0',
        '1',
        '-1',
        '7',
        '9223372036854775807',
        '-9223372036854775808',
        '4503599627370496',
        '9007199254740991',
      ),
      big,
      fill('(§ § §)', int, arithmetic, int),
      fill('(§ % §)', int, int),
      fill('-(§ + 1)', int),
      fill('size(§)', fc.oneof(list, string, map)),
      fill('int(§)', fc.oneof(uint, double)),
      fill('(§ ? § : §)', bool, int, int),
      fill('§[§]', list, int),
      fill('m[§]', string),
      fill('§.indexOf(§)', string, string),
    ),
    uint: either(
      fc.constantFrom('u', '0u', '1u', '18446744073709551615u'),
      fill('(§ § §)', uint, arithmetic, uint),
      fill('(§ % §)', uint, uint),
      fill('uint(§)', fc.oneof(int, double)),
    ),
    double: either(
      fc.constantFrom(
        'd',
        '0.0',
        '-0.0',
        '1.5',
        '-2.25',
        '1e300',
        '9007199254740993.0',
        '9223372036854775808.0',
      ),
      fill('(§ § §)', double, arithmetic, double),
      fill('double(§)', fc.oneof(int, uint)),
      fill('-(§)', double),
    ),
    bool: either(
      fc.constantFrom('true', 'false', 'b'),
      fill('(§ && §)', bool, bool),
      fill('(§ || §)', bool, bool),
      fill('!(§)', bool),
      fill('(§ § §)', int, comparison, int),
      fill('(§ § §)', double, comparison, double),
      fill('(§ § §)', uint, comparison, uint),
      fill('(§ § §)', string, comparison, string),
      fill('(dyn(§) == dyn(§))', any, any),
      fill(
        '(dyn(§) § dyn(§))',
        fc.oneof(int, uint, double),
        comparison,
        fc.oneof(int, uint, double),
      ),
      fill('(§ == §)', list, list),
      fill('(§ == §)', map, map),
      fill('(§ in §)', int, list),
      fill('(§ in §)', string, map),
      fill('§.all(x, x § §)', list, comparison, int),
      fill('§.exists(x, § / x > 1)', list, int),
      fill('§.exists_one(x, x § §)', list, comparison, int),
      fill('§.startsWith(§)', string, string),
      fill('§.contains(§)', string, string),
      fill('§.matches("^[a-c]*$")', string),
      fill('has(m.§)', fc.constantFrom('a', 'b')),
    ),
    string: either(
      fc.constantFrom('s', '""', '"a"', '"äö"', '"ß€"', '"ABC"'),
      fill('(§ + §)', string, string),
      fill('string(§)', fc.oneof(int, uint, bool)),
      fill('§.upperAscii()', string),
      fill('§.substring(§)', string, int),
      fill('§.replace("a", §)', string, string),
      fill('§.charAt(§)', string, int),
    ),
    list: either(
      fc.constantFrom('l', '[]', '[1, 2, 3]'),
      fill('[§, §]', int, int),
      fill('(§ + §)', list, list),
      fill('§.map(x, x + §)', list, int),
      fill('§.map(x, § < x, x)', list, int),
      fill('§.filter(x, x § §)', list, comparison, int),
    ),
    map: either(fc.constantFrom('m', '{}', '{"a": 1}'), fill('{§: §, "z": §}', string, int, int)),
  };
});

const VALUES = {
  i: 5,
  u: new Uint(7n),
  d: new Double(2.5),
  b: true,
  s: 'cab',
  l: [3, 0, 5],
  m: { a: 1, cab: 2 },
};
const THEIRS = {
  i: 5n,
  u: celUint(7n),
  d: 2.5,
  b: true,
  s: 'cab',
  l: [3n, 0n, 5n],
  m: new Map([
    ['a', 1n],
    ['cab', 2n],
  ]),
};

/** Converts the values of both sides to one form. */
function ours(value: Value): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return `int ${value}`;
  if (value instanceof Uint) return `uint ${value.value}`;
  if (value instanceof Double) return `double ${Object.is(value.value, -0) ? 0 : value.value}`;
  if (value instanceof Timestamp || value instanceof Duration) return value.nanoseconds;
  if (isList(value)) return listItems(value).map(ours);
  if (isPlainObject(value))
    return sorted(Object.entries(value).map(([key, item]) => [ours(key), ours(item)]));
  if (isMap(value))
    return sorted([...mapKeys(value)].map((key) => [ours(key), ours(mapGet(value, key))]));
  return value;
}

function theirs(value: unknown): unknown {
  if (typeof value === 'bigint') return `int ${value}`;
  if (typeof value === 'number') return `double ${Object.is(value, -0) ? 0 : value}`;
  if (isCelUint(value)) return `uint ${value.value}`;
  if (isCelList(value)) return [...value].map(theirs);
  if (isCelMap(value))
    return sorted([...value.entries()].map(([key, item]) => [theirs(key), theirs(item)]));
  return value;
}

const sorted = (entries: unknown[][]): unknown[][] =>
  entries.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));

/** The other evaluator divides uints as ints. */
const MISTAKEN = /^int overflow during divide by/;

test('agree', () => {
  const other = celEnv({ funcs: strings });
  let [values, errors] = [0, 0];
  fc.assert(
    fc.property(expression, (source) => {
      const { program } = environment.compile(source);
      // The type of an item of `[]` is unknown: as in cel-go, the first function that accepts it
      // decides.
      if (program === undefined) return;
      const mine = program.evaluate(VALUES, { costLimit: Infinity });
      const its = plan(other, parse(source))(THEIRS);
      if (isCelError(its)) {
        if (mine.error === undefined && MISTAKEN.test(its.message)) return;
        errors++;
        expect(mine.error, `${its.message}; ours: ${String(ours(mine.value))}`).toBeDefined();
      } else {
        values++;
        expect(mine.error).toBeUndefined();
        expect(ours(mine.value)).toEqual(theirs(its));
      }
    }),
    { numRuns: 400, seed: 1 },
  );
  expect(values).toBeGreaterThan(100);
  expect(errors).toBeGreaterThan(50);
});
