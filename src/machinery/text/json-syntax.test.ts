import { expect, test } from 'vitest';
import { describeJsonSyntaxError } from './json-syntax.ts';

test.each([
  ['', 'unexpected end of JSON input'],
  ['{"a":', 'unexpected end of JSON input'],
  ['not json', "invalid character 'o' in literal null (expecting 'u')"],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', `invalid character '"' after object key:value pair`],
  ['[1 2]', "invalid character '2' after array element"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['"a\nb"', String.raw`invalid character '\n' in string literal`],
  [String.raw`"\x"`, "invalid character 'x' in string escape code"],
  [String.raw`"\u00zz"`, String.raw`invalid character 'z' in \u hexadecimal character escape`],
  ['01', "invalid character '1' after top-level value"],
  ['-a', "invalid character 'a' in numeric literal"],
  ['1.a', "invalid character 'a' after decimal point in numeric literal"],
  ['1e-a', "invalid character 'a' in exponent of numeric literal"],
  ['{} {}', "invalid character '{' after top-level value"],
  ["'", String.raw`invalid character '\'' looking for beginning of value`],
])('%j', (text, message) => {
  expect(() => JSON.parse(text) as unknown).toThrow();
  expect(describeJsonSyntaxError(text)).toBe(message);
});

test('valid JSON has no error', () => {
  for (const text of ['{"a":[1,-2.5e3,"\\u00e9\\n",true,false,null,{}]}', ' 0 ', '[]']) {
    expect(describeJsonSyntaxError(text)).toBeUndefined();
  }
});
