import { describe, expect, test } from 'vitest';
import { formatValue, marshalJson, quote } from './go-format.ts';

describe('quote', () => {
  test.each([
    ['', '""'],
    ['web-0', '"web-0"'],
    ['say "hi"', '"say \\"hi\\""'],
    ['a\\b', '"a\\\\b"'],
    ['a\nb\tc\r', '"a\\nb\\tc\\r"'],
    ['\x07\b\f\v\x00\x1b\x7f', '"\\a\\b\\f\\v\\x00\\x1b\\x7f"'],
    ['größe 日本 ☺', '"größe 日本 ☺"'],
    ['😀', '"😀"'],
    ['\u00a0\u200b\ufeff', '"\\u00a0\\u200b\\ufeff"'],
    ['\u{10ffff}', '"\\U0010ffff"'],
    ['\ud800', '"�"'],
    ['<a&b>', '"<a&b>"'],
  ])('%j', (text, quoted) => {
    expect(quote(text)).toBe(quoted);
  });
});

describe('marshalJson', () => {
  test('escapes the characters that Go escapes', () => {
    expect(marshalJson({ b: '<&>', a: ['\u2028'] })).toBe(
      '{"b":"\\u003c\\u0026\\u003e","a":["\\u2028"]}',
    );
    expect(marshalJson(undefined)).toBe('null');
    expect(marshalJson([])).toBe('[]');
  });
});

describe('formatValue', () => {
  test('prints as %v does', () => {
    expect(formatValue({ b: [1, 'x', null], a: { c: true } })).toBe(
      'map[a:map[c:true] b:[1 x <nil>]]',
    );
    expect(formatValue(undefined)).toBe('<nil>');
  });
});
