// Compiles and evaluates with declared types: in-memory values, lazy conversion, and errors.
import { describe, expect, test } from 'vitest';
import { toJson } from './adapt.ts';
import { Environment, type EnvironmentConfig } from './environment.ts';
import { LazyMap } from './lazy-map.ts';
import { kubernetesLibraries } from './library/index.ts';
import { QUANTITY, QuantityValue } from './library/quantity.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import {
  ANY,
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  list,
  map,
  object,
  STRING,
  TIMESTAMP,
  UINT,
  type ObjectType,
  type Type,
} from './types.ts';
import { AbstractMap, Double, Uint, type Value } from './values.ts';

function evaluate(
  source: string,
  variables: Readonly<Record<string, Type>>,
  values: Readonly<Record<string, unknown>>,
): Value {
  const environment = new Environment({ variables, libraries: kubernetesLibraries });
  const { program, error } = environment.compile(source);
  if (program === undefined) return error.message;
  const result = program.evaluate(values);
  return result.error === undefined ? result.value : `error: ${result.error.message}`;
}

describe('values of declared types', () => {
  const type: ObjectType = object('Thing', {
    ratio: DOUBLE,
    count: INT,
    size: UINT,
    made: TIMESTAMP,
    wait: DURATION,
    data: BYTES,
    ratios: list(DOUBLE),
    waits: map(STRING, DURATION),
    any: DYN,
  });
  const thing = {
    ratio: 2,
    count: 2,
    size: 3,
    made: '2026-01-02T03:04:05Z',
    wait: '90s',
    data: 'aGVsbG8=',
    ratios: [1, 2.5],
    waits: { a: '1m' },
    any: { whole: 2, half: 0.5, list: [1, 1.5] },
  };

  test.each([
    'thing.ratio / 4.0 == 0.5',
    'type(thing.ratio) == double && type(thing.count) == int && type(thing.size) == uint',
    'thing.made.getFullYear() == 2026 && thing.made + duration("1h") == timestamp("2026-01-02T04:04:05Z")',
    'thing.wait == duration("1m30s") && thing.wait.getSeconds() == 90',
    'thing.data == b"hello" && size(thing.data) == 5',
    'thing.ratios.sum() == 3.5 && thing.ratios[0] == 1.0 && type(thing.ratios[0]) == double',
    'thing.waits.all(k, k == "a" && thing.waits[k] == duration("60s"))',
    // Without a declaration, a number without a fraction is an int, as in JSON.
    'type(thing.any.whole) == int && type(thing.any.half) == double && thing.any.list[1] == 1.5',
    'type(thing.any.list[0]) == int && type(thing.any.list[1]) == double && ' +
      'has(thing.any.half) && !has(thing.any.third)',
    'thing.ratios == [1.0, 2.5] && thing.waits == {"a": duration("60s")}',
  ])('%s', (source) => {
    expect(evaluate(source, { thing: type }, { thing })).toBe(true);
  });

  test('with the wrong type are errors when they are used', () => {
    expect(evaluate('thing.count + 1', { thing: type }, { thing: { count: 'x' } })).toBe(
      'error: no such overload',
    );
    expect(
      evaluate('thing.made.getHours()', { thing: type }, { thing: { made: 'soon' } }),
    ).toContain('error: type conversion error');
    expect(evaluate('thing.count + 1', { thing: type }, { thing: { count: null } })).toBe(
      'error: no such overload',
    );
    expect(evaluate('thing.ratio', { thing: type }, { thing: {} })).toBe(
      'error: no such key: ratio',
    );
    expect(evaluate('thing.ratio', { thing: type }, {})).toBe('error: no such attribute(s): thing');
    expect(evaluate('thing.nothing', { thing: type }, {})).toContain("undefined field 'nothing'");
  });

  test.each<[source: string, expected: unknown]>([
    ['has(v.nothing.x)', false],
    ['has(v.text.x)', false],
    ['has(v.number.x)', false],
    ['has(v.nothing) && v.nothing == null', true],
    ['v.nothing.?x == optional.none()', true],
    ['v.text.?x == optional.none()', true],
    ['v.nothing.x == 1', 'error: no such key: x'],
    ['v.text.x == 1', 'error: no such key: x'],
    ['has(v.list.x)', 'error: no such overload'],
    ['has(v.missing.x)', 'error: no such key: missing'],
  ])('%s: fields of values without fields', (source, expected) => {
    const v = { nothing: null, text: 'a', number: 1, list: [1] };
    expect(evaluate(source, { v: DYN }, { v })).toBe(expected);
  });

  test('are converted back to JSON', () => {
    const made = evaluate(
      '{"a": [thing.ratio, 1.5], "b": thing.size, "c": {"d": null}}',
      { thing: type },
      { thing },
    );
    expect(made).toContain("expected type 'list(double)' but found 'uint'");
    const environment = new Environment({ variables: { thing: type }, homogeneousLiterals: false });
    const { program } = environment.compile(
      '{"a": [thing.ratio, 1.5], "b": thing.size, "c": {"d": null}}',
    );
    expect(toJson(program?.evaluate({ thing }).value)).toEqual({
      a: [2, 1.5],
      b: 3,
      c: { d: null },
    });
    expect(() => toJson(new Double(1))).not.toThrow();
    expect(toJson(new Uint(5n))).toBe(5);
  });
});

describe('a custom map', () => {
  /** The attributes of a device: an unknown domain is empty. */
  class Domains extends AbstractMap {
    readonly #domains: Readonly<Record<string, Readonly<Record<string, unknown>>>>;

    constructor(domains: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
      super();
      this.#domains = domains;
    }

    get size(): number {
      return Object.keys(this.#domains).length;
    }

    get(key: Value): Value {
      return this.#domains[String(key)] ?? {};
    }

    keys(): Iterable<Value> {
      return Object.keys(this.#domains);
    }
  }

  const device = object('Device', {
    driver: STRING,
    attributes: map(STRING, map(STRING, ANY)),
    capacity: map(STRING, map(STRING, QUANTITY)),
  });
  const values = {
    device: {
      driver: 'gpu.example.com',
      attributes: new Domains({ 'gpu.example.com': { model: 'a100', index: 2 } }),
      capacity: new Domains({
        'gpu.example.com': { memory: new QuantityValue(parseQuantity('80Gi')) },
      }),
    },
  };

  test.each<[string, Value]>([
    [
      'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"',
      true,
    ],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', true],
    ['has(device.attributes["other"].model)', false],
    ['device.attributes["gpu.example.com"].index + 1 == 3', true],
    ['device.attributes["other"].model == "x"', 'error: no such key: model'],
    ['device.attributes["other"].model == "x" || true', true],
    [
      'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model)',
      "undeclared reference to 'cel'",
    ],
  ])('%s', (source, result) => {
    const actual = evaluate(source, { device }, values);
    if (typeof result === 'string' && !result.startsWith('error')) expect(actual).toContain(result);
    else expect(actual).toBe(result);
  });
});

test('a program can be evaluated repeatedly', () => {
  const environment = new Environment({ variables: { x: INT }, libraries: kubernetesLibraries });
  for (const source of [
    '{"a": x}.transformMap(k, v, v + 1) == {"a": x + 1}',
    '[1, 2].map(y, {}.transformMap(k, v, v)) == [{}, {}]',
    '[[1, 2].filter(y, y > x), [x].map(y, y + 1)] != []',
    'optional.of(x).optMap(y, y + 1).value() == x + 1 && {"k": [1]}.k + [x] == [1, x]',
  ]) {
    const { program, error } = environment.compile(source);
    if (program === undefined) throw error;
    for (const x of [1, 2, 1]) expect(program.evaluate({ x }).value, source).toBe(true);
  }
});

test('lazy variables', () => {
  const made: string[] = [];
  const base = new Environment({ variables: { x: INT }, libraries: kubernetesLibraries });
  const maker = (name: string, source: string) => (): Value => {
    made.push(name);
    const result = base.compile(source).program?.evaluate({ x: 5 });
    if (result?.error !== undefined) throw result.error;
    return result?.value;
  };
  const variables = new LazyMap(
    new Map([
      ['double', maker('double', 'x * 2')],
      ['wrong', maker('wrong', '1 / 0')],
      ['unused', maker('unused', 'x')],
    ]),
  );
  const type = object('variables', { double: INT, wrong: INT, unused: INT });
  const of = (source: string): Value => evaluate(source, { variables: type }, { variables });
  expect(of('variables.double + variables.double == 20 && has(variables.wrong)')).toBe(true);
  expect(of('variables.wrong == 1')).toBe('error: division by zero');
  expect(of('variables.wrong == 1 || variables.double == 10')).toBe(true);
  expect(of('variables.nothing')).toContain("undefined field 'nothing'");
  expect(made).toEqual(['double', 'wrong']);
});

describe('compile', () => {
  const compile = (source: string, options = {}, config: EnvironmentConfig = {}) =>
    new Environment({
      variables: { object: DYN, x: INT },
      libraries: kubernetesLibraries,
      ...config,
    }).compile(source, options);

  test('reports a wrong result type', () => {
    expect(compile('x', { resultType: BOOL }).error).toMatchObject({
      message: 'must evaluate to bool',
      reason: 'resultType',
    });
    expect(compile('x', { resultType: [STRING, BOOL] }).error?.message).toBe(
      'must evaluate to one of [string bool]',
    );
    expect(compile('object.x', { resultType: BOOL, exactResult: true }).error?.message).toBe(
      'must evaluate to bool',
    );
    expect(compile('object.x', { resultType: BOOL }).error).toBeUndefined();
    expect(compile('x > 1', { resultType: BOOL }).program?.resultType).toEqual(BOOL);
  });

  test('reports every issue with its position', () => {
    expect(compile("'µ' + y +\n'' + z").error?.message).toBe(
      [
        "ERROR: <input>:1:7: undeclared reference to 'y' (in container '')",
        " | 'µ' + y +",
        ' | .．....^',
        "ERROR: <input>:2:6: undeclared reference to 'z' (in container '')",
        " | '' + z",
        ' | .....^',
      ].join('\n'),
    );
    expect(compile("1 + 'a'").error?.issues).toEqual([
      { offset: 2, message: "found no matching overload for '_+_' applied to '(int, string)'" },
    ]);
    expect(compile("['a', 1]").error?.issues).toEqual([
      { offset: 6, message: "expected type 'string' but found 'int'" },
    ]);
    // A dynamic item differs in type from the other items.
    expect(compile("[dyn('b'), 'a', 'c']").error?.issues).toEqual([
      { offset: 11, message: "expected type 'dyn' but found 'string'" },
    ]);
    expect(compile("{'a': 'b', 'c': dyn('d'), dyn('e'): 'f'}").error?.issues).toEqual([
      { offset: 19, message: "expected type 'string' but found 'dyn'" },
      { offset: 29, message: "expected type 'string' but found 'dyn'" },
    ]);
    expect(compile("[?optional.of('a'), 'b', ?optional.none()]").error).toBeUndefined();
  });

  test('checks literals at compile time', () => {
    expect(compile("duration('x') > duration('1s')").error?.issues).toEqual([
      { offset: 9, message: 'invalid duration argument' },
    ]);
    expect(compile("timestamp('2026') == timestamp('2026')").error?.issues).toHaveLength(2);
    expect(compile("'a'.matches('(')").error?.issues).toEqual([
      { offset: 12, message: 'invalid matches argument' },
    ]);
  });

  test('has limits', () => {
    expect(compile('a'.repeat(11), {}, { limits: { maxLength: 10 } }).error?.message).toContain(
      'expression code point size exceeds limit: size: 11, limit 10',
    );
    expect(compile("'𝒳𝒳𝒳'.size() == 3", {}, { limits: { maxLength: 17 } }).error).toBeUndefined();
    expect(
      compile("'𝒳𝒳𝒳'.size() == 3", {}, { limits: { maxLength: 16 } }).error?.message,
    ).toContain('size: 17, limit 16');
    const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
    expect(compile(deep).error?.message).toBe(
      'ERROR: <input>:-1:0: expression recursion limit exceeded: 250',
    );
    expect(compile(`${'1 + '.repeat(300)}1`).error?.message).toBe(
      'ERROR: <input>:-1:0: max recursion depth exceeded',
    );
    expect(
      compile(`[${'1,'.repeat(200)}]`, {}, { limits: { maxNodes: 100 } }).error?.message,
    ).toContain('more than 100 nodes');
    // Long chains of logical operators are not deep.
    expect(compile(`${'x > 1 || '.repeat(500)}false`).error).toBeUndefined();
    // A target that macros use twice is one tree, however deeply it is nested.
    const nested = `optional.of(1)${'.optMap(y, y + 1)'.repeat(60)}.hasValue()`;
    const { program } = compile(nested);
    expect(program?.evaluate({}).error?.reason).toBe('costLimitExceeded');
  });
});
