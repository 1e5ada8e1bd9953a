import { describe, expect, test } from 'vitest';
import { getScaledValueFromIntOrPercent, intValue, isInt } from './int-or-string.ts';

describe('getScaledValueFromIntOrPercent', () => {
  test.each([
    [123, 100, true, 123],
    ['90%', 100, true, 90],
    ['90%', 1000, true, 900],
    ['90%', 1, true, 1],
    ['90%', 1, false, 0],
    ['25%', 10, true, 3],
    ['25%', 10, false, 2],
    ['0%', 10, true, 0],
    ['150%', 10, true, 15],
    ['100%', 3, false, 3],
    // 0.07 * 100 is more than 7 in floating point; the product comes first.
    ['7%', 100, true, 7],
  ])('%s of %d, rounding up: %s', (value, total, roundUp, expected) => {
    expect(getScaledValueFromIntOrPercent(value, total, roundUp)).toBe(expected);
  });

  test.each([
    [undefined, 'nil value for IntOrString'],
    ['25', 'invalid value for IntOrString: invalid type: string is not a percentage'],
    [
      'x%',
      'invalid value for IntOrString: invalid value "x%": strconv.Atoi: parsing "x": invalid syntax',
    ],
    [
      '%',
      'invalid value for IntOrString: invalid value "%": strconv.Atoi: parsing "": invalid syntax',
    ],
    [
      '1.5%',
      'invalid value for IntOrString: invalid value "1.5%": strconv.Atoi: parsing "1.5": invalid syntax',
    ],
  ])('refuses %s', (value, message) => {
    expect(() => getScaledValueFromIntOrPercent(value, 10, true)).toThrow(new Error(message));
  });
});

describe('intValue', () => {
  test('returns the number, or the number in the text', () => {
    expect([intValue(80), intValue('80'), intValue('-1'), intValue('http'), intValue('')]).toEqual([
      80, 80, -1, 0, 0,
    ]);
    expect([isInt(80), isInt('80')]).toEqual([true, false]);
  });
});
