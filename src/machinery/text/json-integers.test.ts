// Integers beyond 2^53 in JSON: parsed as bigints, written as integers.

import { describe, expect, test } from 'vitest';

import { stringifyJson } from './json-integers.ts';
import { parseJson } from './json.ts';

const read = (text: string): unknown => parseJson(text, { bigints: true });

describe('reading', () => {
  test.each<[text: string, value: unknown]>([
    [
      '{"a":9223372036854775807,"b":[-9223372036854775808]}',
      { a: 9223372036854775807n, b: [-9223372036854775808n] },
    ],
    ['{"a":9007199254740991}', { a: 9007199254740991 }],
    ['{"a":9007199254740993}', { a: 9007199254740993n }],
    ['9223372036854775807', 9223372036854775807n],
    // Go parses integers beyond int64 as floating-point numbers.
    ['9223372036854775808', 2 ** 63],
    ['[123456789012345678901234567890]', [1.2345678901234568e29]],
    [
      '[1.2345678901234567890, 12345678901234567890e3]',
      [1.2345678901234567, Number('12345678901234567890e3')],
    ],
    [
      '["9223372036854775807", "@int64:9223372036854775807", 9223372036854775807]',
      ['9223372036854775807', '@int64:9223372036854775807', 9223372036854775807n],
    ],
    ['{"é":"ß","a":9223372036854775807}', { é: 'ß', a: 9223372036854775807n }],
  ])('%s', (text, value) => {
    expect(read(text)).toStrictEqual(value);
  });

  test('`__proto__` stays an own key', () => {
    const value = read('{"__proto__":9223372036854775807}') as object;
    expect(Object.entries(value)).toEqual([['__proto__', 9223372036854775807n]]);
  });

  test('a syntax error after a large integer is reported as any other', () => {
    expect(() => read('{"a":9223372036854775807,}')).toThrow('invalid character');
  });

  test('without the option they are errors', () => {
    expect(() => parseJson('[9223372036854775807]')).toThrow(
      'number "9223372036854775807" is out of range',
    );
  });
});

describe('writing', () => {
  test.each<[value: unknown, text: string]>([
    [
      { a: 9223372036854775807n, b: [-9223372036854775808n, 1] },
      '{"a":9223372036854775807,"b":[-9223372036854775808,1]}',
    ],
    [{ a: '@int64:1', b: 5n }, '{"a":"@int64:1","b":5}'],
    [{ '@int64:': ['@int64:@'], b: 5n }, '{"@int64:":["@int64:@"],"b":5}'],
    [{ a: undefined, b: 'x' }, '{"b":"x"}'],
  ])('%o', (value, text) => {
    expect(stringifyJson(value)).toBe(text);
  });

  test('indented', () => {
    expect(stringifyJson({ a: 9223372036854775807n }, 2)).toBe('{\n  "a": 9223372036854775807\n}');
  });

  test('other values that JSON cannot represent are errors', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(() => stringifyJson(circle)).toThrow('circular structure');
  });
});
