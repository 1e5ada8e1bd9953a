import { expect, test } from 'vitest';
import { isEmail } from './email.ts';

test.each([
  'a@b',
  ' a@b ',
  '"a b"@c',
  'Name <a@b>',
  '"N, M" <a@b>',
  '<a@b>',
  'a@b (c (d))',
  'a@[::1]',
  'N (x) M <a@b>',
  'é@ü',
])('%s is an address', (text) => {
  expect(isEmail(text)).toBe(true);
});

test.each([
  '',
  'a',
  'a@',
  '@b',
  'a@b@c',
  '.a@b',
  'a.@b',
  'a..b@c',
  'a@[x]',
  'a@b (c',
  '<a@b',
  'a b@c',
  '""@c',
  'a@b <c@d>',
])('%s is no address', (text) => {
  expect(isEmail(text)).toBe(false);
});

test('a long text takes linear time', () => {
  expect(isEmail(`"${'a\\'.repeat(1_000_000)}`)).toBe(false);
  expect(isEmail(`a@${'a.'.repeat(1_000_000)}`)).toBe(false);
  expect(isEmail(`${'a '.repeat(50_000)}<`)).toBe(false);
  expect(isEmail('('.repeat(100_000))).toBe(false);
});
