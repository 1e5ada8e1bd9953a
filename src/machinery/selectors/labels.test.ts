import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as field from '../validation/field.ts';
import * as labels from './labels.ts';

const NAME_MESSAGE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
  " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

describe('parse', () => {
  test.each([
    ['', ''],
    ['x=a,y=b,z=c', 'x=a,y=b,z=c'],
    ['x!=a,y=b', 'x!=a,y=b'],
    ['x=', 'x='],
    ['x= ', 'x='],
    ['x=,z= ', 'x=,z='],
    ['x= ,z= ', 'x=,z='],
    ['!x', '!x'],
    ['x==a', 'x==a'],
    ['x>1,z<5', 'x>1,z<5'],
    ['z=c , a = b', 'a=b,z=c'],
    ['\tx\n=\ra', 'x=a'],
    ['key', 'key'],
    ['x in (b,a)', 'x in (a,b)'],
    ['x in (a,a)', 'x in (a)'],
    ['x in ()', 'x in ()'],
    ['x in (a,)', 'x in (,a)'],
    ['x in (,a)', 'x in (,a)'],
    ['x in (,)', 'x in ()'],
    ['x in (a,,b)', 'x in (,a,b)'],
    ['x notin (a,b),y', 'x notin (a,b),y'],
    ['x notin(a)', 'x notin (a)'],
    ['in in (in,notin)', 'in in (in,notin)'],
    ['notin=in', 'notin=in'],
    ['!e,a.b/c in (d)', 'a.b/c in (d),!e'],
  ])('%j is %j', (text, canonical) => {
    const selector = labels.parse(text);
    expect(selector.toString()).toBe(canonical);
    expect(labels.parse(canonical).toString()).toBe(canonical);
  });

  test.each([
    [
      'x=a||y=b',
      'unable to parse requirement: values[0][x]: Invalid value: "a||y": a valid label must be',
    ],
    ['x==a==b', "found '==', expected: ',' or 'end of string'"],
    ['!x=a', "found '=', expected: ',' or 'end of string'"],
    [
      'x<a',
      'unable to parse requirement: values[0]: Invalid value: "a": for \'Gt\', ' +
        "'Lt' operators, the value must be an integer",
    ],
    ['x=a,', "found '', expected: identifier after ','"],
    ['x=a,,y', "found ',', expected: identifier after ','"],
    [',x', "found ',', expected: !, identifier, or 'end of string'"],
    ['x y', "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"],
    ['x in a', "unable to parse requirement: found 'a' expected: '('"],
    ['x in (a', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['x in (=', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['x in (a=b)', "unable to parse requirement: found '=', expected: ',' or ')'"],
    ['x=(', "unable to parse requirement: found '(', expected: identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!!x', "unable to parse requirement: found '!', expected: identifier"],
    ['-x', `unable to parse requirement: <nil>: Invalid value: "-x": ${NAME_MESSAGE}`],
    [
      'x=-',
      'unable to parse requirement: values[0][x]: Invalid value: "-": a valid label must ' +
        'be an empty string or consist of',
    ],
    ['x>1,y>1.5', 'the value must be an integer'],
    ['x=&', 'a valid label must be'],
  ])('refuses %j', (text, message) => {
    const parsing = () => labels.parse(text);
    expect(parsing).toThrow(labels.SelectorParseError);
    expect(parsing).toThrow(message);
  });

  test('names the given path in its errors', () => {
    expect(() => labels.parse('-x', field.path('spec', 'selector'))).toThrow(
      'spec.selector: Invalid value: "-x"',
    );
  });

  test('reads a long selector in linear time', () => {
    const text = `x in (${Array.from({ length: 20_000 }, (_, i) => `v${i}`).join(',')})`;
    expect(labels.parse(text).requirements()?.[0]?.values).toHaveLength(20_000);
  });
});

describe('matches', () => {
  const set = { foo: 'bar', baz: 'blah', num: '10', empty: '' };
  test.each([
    ['', true],
    ['foo=bar', true],
    ['foo==bar', true],
    ['foo=bar,baz=blah', true],
    ['foo=bar,baz=nope', false],
    ['foo!=bar', false],
    ['foo!=other', true],
    ['none!=x', true],
    ['none=', false],
    ['empty=', true],
    ['empty', true],
    ['none', false],
    ['!none', true],
    ['!foo', false],
    ['foo in (a,bar)', true],
    ['foo in (a,b)', false],
    ['none in (a)', false],
    ['foo notin (bar)', false],
    ['foo notin (a)', true],
    ['none notin (a)', true],
    ['num>9', true],
    ['num>10', false],
    ['num<11', true],
    ['none<11', false],
    ['foo>1', false],
    ['constructor', false],
    ['!toString', true],
  ])('%j: %s', (text, expected) => {
    expect(labels.parse(text).matches(set)).toBe(expected);
  });

  test('compares integers beyond 2^53, and only those of 64 bits', () => {
    expect(labels.parse('a>9007199254740992').matches({ a: '9007199254740993' })).toBe(true);
    expect(labels.parse('a>1').matches({ a: '9223372036854775808' })).toBe(false);
  });

  test('treats __proto__ as an ordinary label', () => {
    const set = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    const requirement = new labels.Requirement('__proto__', '=', ['x']);
    expect(requirement.matches(set)).toBe(true);
    expect(requirement.matches({})).toBe(false);
  });

  test('treats undefined labels as empty', () => {
    expect(labels.everything().matches(undefined)).toBe(true);
    expect(labels.parse('a').matches(undefined)).toBe(false);
    expect(labels.parse('!a').matches(undefined)).toBe(true);
  });

  test('is the same for a selector that was formatted and parsed', () => {
    const key = fc.constantFrom('a', 'b', 'c/d');
    const value = fc.constantFrom('', 'x', 'y', '1', '2');
    const requirement = fc.oneof(
      fc.tuple(key, fc.constantFrom('=', '==', '!=' as const), fc.tuple(value)),
      fc.tuple(
        key,
        fc.constantFrom('in', 'notin' as const),
        fc.uniqueArray(value, { minLength: 1 }),
      ),
      fc.tuple(key, fc.constantFrom('exists', '!' as const), fc.constant([])),
      fc.tuple(key, fc.constantFrom('gt', 'lt' as const), fc.tuple(fc.constantFrom('1', '2'))),
    );
    fc.assert(
      fc.property(
        fc.array(requirement, { maxLength: 4 }),
        fc.dictionary(key, value),
        (requirements, set) => {
          const made = requirements.map(([name, operator, values]) =>
            labels.newRequirement(name, operator, values),
          );
          const selector = labels.everything().add(...made);
          const again = labels.parse(selector.toString());
          expect(again.toString()).toBe(selector.toString());
          expect(again.matches(set)).toBe(selector.matches(set));
          expect(selector.matches(set)).toBe(made.every((one) => one.matches(set)));
        },
      ),
    );
  });
});

describe('selectors', () => {
  test('everything() matches all objects, nothing() none', () => {
    const { everything, nothing } = labels;
    expect([
      everything().empty(),
      everything().matches({ a: 'b' }),
      everything().requirements(),
    ]).toEqual([true, true, []]);
    expect([nothing().empty(), nothing().matches({}), nothing().requirements()]).toEqual([
      false,
      false,
      undefined,
    ]);
    expect(nothing().add(labels.newRequirement('a', 'exists', []))).toBe(nothing());
    expect(String(nothing())).toBe('');
    expect(nothing().requiresExactMatch('a')).toBeUndefined();
  });

  test('return the exact value that they require of a label', () => {
    const selector = labels.parse('a=1,b in (2),c in (3,4),d!=5,e');
    const values = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => selector.requiresExactMatch(key));
    expect(values).toEqual(['1', '2', undefined, undefined, undefined, undefined]);
  });

  test('are created from sets of labels', () => {
    expect(labels.selectorFromSet(undefined)).toBe(labels.everything());
    expect(labels.selectorFromSet({ b: '2', a: '1' }).toString()).toBe('a=1,b=2');
    expect(labels.validatedSelectorFromSet({ b: '2', a: '1' }).toString()).toBe('a=1,b=2');
    expect(() => labels.validatedSelectorFromSet({ a: '-' })).toThrow('values[0][a]');
  });
});

describe('newRequirement', () => {
  test.each<[string, labels.Operator, string[] | undefined, string]>([
    [
      'x',
      'in',
      [],
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      'x',
      'notin',
      undefined,
      "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      'x',
      '=',
      ['a', 'b'],
      'values: Invalid value: ["a","b"]: exact-match compatibility requires one single value',
    ],
    [
      'x',
      'exists',
      ['a'],
      'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
    ],
    [
      'x',
      'gt',
      ['1', '2'],
      'values: Invalid value: ["1","2"]: for \'Gt\', \'Lt\' operators, exactly one value is required',
    ],
    [
      'x',
      '+' as labels.Operator,
      ['a'],
      'operator: Unsupported value: "+": supported values: "in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"',
    ],
    ['-', 'exists', [], `key: Invalid value: "-": ${NAME_MESSAGE}`],
  ])('%s %s %j', (key, operator, values, message) => {
    expect(() => labels.newRequirement(key, operator, values)).toThrow(message);
  });

  test('reports all problems', () => {
    expect(() => labels.newRequirement('-', 'in', ['-', 'ok', '+'])).toThrow(
      /^\[key: .*, values\[0\]\[-\]: .*, values\[2\]\[-\]: .*\]$/,
    );
  });
});

describe('labelSelectorAsSelector', () => {
  test('matches nothing without a selector and everything with an empty one', () => {
    expect(labels.labelSelectorAsSelector(undefined)).toBe(labels.nothing());
    expect(labels.labelSelectorAsSelector(null)).toBe(labels.nothing());
    expect(labels.labelSelectorAsSelector({})).toBe(labels.everything());
    expect(labels.labelSelectorAsSelector({ matchLabels: {}, matchExpressions: null })).toBe(
      labels.everything(),
    );
  });

  test('combines labels and expressions', () => {
    const selector = labels.labelSelectorAsSelector({
      matchLabels: { z: '1', a: '2' },
      matchExpressions: [
        { key: 'b', operator: 'In', values: ['y', 'x'] },
        { key: 'c', operator: 'NotIn', values: ['x'] },
        { key: 'd', operator: 'Exists' },
        { key: 'e', operator: 'DoesNotExist', values: [] },
      ],
    });
    expect(selector.toString()).toBe('a=2,b in (x,y),c notin (x),d,!e,z=1');
  });

  test.each([
    ['Near', ['a'], '"Near" is not a valid pod selector operator'],
    [
      'In',
      undefined,
      "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      'Exists',
      ['a'],
      'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
    ],
  ])('refuses %s %j', (operator, values, message) => {
    const selector = { matchExpressions: [{ key: 'a', operator, values }] };
    expect(() => labels.labelSelectorAsSelector(selector)).toThrow(message);
    expect(labels.formatLabelSelector(selector)).toBe('<error>');
  });

  test('is formatted for columns', () => {
    expect(labels.formatLabelSelector({ matchLabels: { a: 'b' } })).toBe('a=b');
    expect(labels.formatLabelSelector({})).toBe('<none>');
    expect(labels.formatLabelSelector(undefined)).toBe('<none>');
  });
});

describe('labelSelectorAsMap', () => {
  test('accepts equalities', () => {
    const selector = {
      matchLabels: { a: '1' },
      matchExpressions: [{ key: 'b', operator: 'In', values: ['2'] }],
    };
    expect(labels.labelSelectorAsMap(selector)).toEqual({ a: '1', b: '2' });
    expect(labels.labelSelectorAsMap(undefined)).toEqual({});
  });

  test.each([
    [
      'In',
      ['1', '2'],
      'operator "In" without a single value cannot be converted into the old label selector format',
    ],
    ['Exists', [], 'operator "Exists" cannot be converted into the old label selector format'],
    ['Near', [], '"Near" is not a valid selector operator'],
  ])('refuses %s', (operator, values, message) => {
    expect(() =>
      labels.labelSelectorAsMap({ matchExpressions: [{ key: 'b', operator, values }] }),
    ).toThrow(message);
  });
});

describe('parseToLabelSelector', () => {
  test('converts the text to an object', () => {
    expect(labels.parseToLabelSelector('b=2,a==1,c in (y,x),d notin (z),e,!f')).toEqual({
      matchLabels: { a: '1', b: '2' },
      matchExpressions: [
        { key: 'c', operator: 'In', values: ['x', 'y'] },
        { key: 'd', operator: 'NotIn', values: ['z'] },
        { key: 'e', operator: 'Exists', values: [] },
        { key: 'f', operator: 'DoesNotExist', values: [] },
      ],
    });
  });

  test.each([
    ['a>1', '"gt" isn\'t supported in label selectors'],
    ['a!=1', '"!=" is not a valid label selector operator'],
    [
      'a in',
      "couldn't parse the selector string \"a in\": unable to parse requirement: found '' expected: '('",
    ],
  ])('refuses %s', (text, message) => {
    expect(() => labels.parseToLabelSelector(text)).toThrow(message);
  });
});

describe('validateLabelSelector', () => {
  const at = field.path('spec', 'selector');

  test('accepts valid selectors', () => {
    expect(labels.validateLabelSelector(undefined, at)).toEqual([]);
    expect(
      labels.validateLabelSelector(
        {
          matchLabels: { a: 'b' },
          matchExpressions: [{ key: 'c', operator: 'In', values: ['d'] }],
        },
        at,
      ),
    ).toEqual([]);
  });

  test('reports every problem with its path', () => {
    const errors = labels.validateLabelSelector(
      {
        matchLabels: { a: '-' },
        matchExpressions: [
          { key: 'b', operator: 'In', values: [] },
          { key: 'c', operator: 'Exists', values: ['d'] },
          { key: '-', operator: 'Near', values: ['ok', '-'] },
        ],
      },
      at,
    );
    expect(errors.map((error) => error.message.slice(0, 100))).toEqual([
      expect.stringContaining('spec.selector.matchLabels: Invalid value: "-": a valid label'),
      (
        'spec.selector.matchExpressions[0].values: Required value: must be specified when ' +
        "`operator` is 'In' or 'NotIn'"
      ).slice(0, 100),
      (
        'spec.selector.matchExpressions[1].values: Forbidden: may not be specified when ' +
        "`operator` is 'Exists' or 'DoesNotExist'"
      ).slice(0, 100),
      'spec.selector.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator',
      expect.stringContaining(
        'spec.selector.matchExpressions[2].key: Invalid value: "-": name part',
      ),
      expect.stringContaining(
        'spec.selector.matchExpressions[2].values[1]: Invalid value: "-": a valid label',
      ),
    ]);
  });

  test('ignores invalid values on request', () => {
    const selector = { matchExpressions: [{ key: 'b', operator: 'In', values: ['-'] }] };
    expect(
      labels.validateLabelSelector(selector, at, { allowInvalidLabelValueInSelector: true }),
    ).toEqual([]);
  });
});

describe('formatLabels', () => {
  test('sorts by key', () => {
    expect(labels.formatLabels({ b: '2', a: '' })).toBe('a=,b=2');
    expect(labels.formatLabels({})).toBe('<none>');
    expect(labels.formatLabels(undefined)).toBe('<none>');
  });
});

test('parses a text of symbols in linear time', () => {
  expect(() => labels.parse('('.repeat(1_000_000))).toThrow(
    "found '(', expected: !, identifier, or 'end of string'",
  );
});
