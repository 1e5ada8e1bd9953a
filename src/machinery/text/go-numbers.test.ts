import { expect, test } from 'vitest';
import { IntegerError, parseInt64, parseUint64 } from './go-numbers.ts';

test.each([
  ['0', 0],
  ['-12', -12],
  ['+7', 7],
  ['007', 7],
  ['9223372036854775807', Number.MAX_SAFE_INTEGER],
  ['-9223372036854775808', Number.MIN_SAFE_INTEGER],
])('%s is a signed integer', (text, value) => {
  expect(parseInt64(text)).toBe(value);
});

test.each([
  ['0', 0],
  ['01', 1],
  ['18446744073709551615', Number.MAX_SAFE_INTEGER],
])('%s is an unsigned integer', (text, value) => {
  expect(parseUint64(text)).toBe(value);
});

test.each(['', ' ', '1.0', '1e3', '0x1', '--1', '1_0', '٣'])('%j is no integer', (text) => {
  expect(() => parseInt64(text)).toThrow(IntegerError);
  expect(() => parseUint64(text)).toThrow('invalid syntax');
});

test('integers with more bits are out of range', () => {
  expect(() => parseInt64('9223372036854775808')).toThrow(
    'strconv.ParseInt: parsing "9223372036854775808": value out of range',
  );
  expect(() => parseUint64('18446744073709551616')).toThrow(
    'strconv.ParseUint: parsing "18446744073709551616": value out of range',
  );
  expect(() => parseUint64('-1')).toThrow('strconv.ParseUint: parsing "-1": invalid syntax');
});
