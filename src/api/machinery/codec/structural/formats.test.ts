// Texts of megabytes, whose check would take hours if its work were not linear, or too long if it were.
import { expect, test } from 'vitest';
import { checkOfFormat } from './formats.ts';

const MEGABYTES = 2_500_000;

test('a duration of digits alone is rejected at once', () => {
  const check = checkOfFormat('duration')!;
  expect(check('1'.repeat(60_000))).toBe(false);
  expect(check(`${'1'.repeat(18)} days`)).toBe(true);
  expect(check('a1 b22 days')).toBe(true);
});

test.each(['duration', 'email', 'isbn', 'creditcard', 'ipv6', 'date-time'])(
  'a text of megabytes is no %s',
  (format) => {
    const check = checkOfFormat(format)!;
    for (const piece of ['1h', '= ', '1', 'a b ', ':', '0-'])
      expect(check(piece.repeat(MEGABYTES / piece.length))).toBe(false);
  },
);

test('base64 and URLs may be long', () => {
  expect(checkOfFormat('byte')!('abcd'.repeat(MEGABYTES / 4))).toBe(true);
  expect(checkOfFormat('uri')!(`http://a/${'b'.repeat(MEGABYTES)}`)).toBe(true);
});
