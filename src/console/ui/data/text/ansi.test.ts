import { expect, test } from 'vitest';
import { ansiPieces } from './ansi.ts';

test('colours become classes', () => {
  expect(
    ansiPieces('\u001b[1;31merror\u001b[0m at \u001b[38;5;2mx\u001b[48;2;1;2;3my\u001b[39mz'),
  ).toEqual([
    { text: 'error', style: 'ansi-red ansi-bold' },
    { text: ' at ', style: '' },
    { text: 'x', style: 'ansi-green' },
    { text: 'y', style: 'ansi-green' },
    { text: 'z', style: '' },
  ]);
});

test('every other sequence is shown as text', () => {
  expect(ansiPieces('\u001b[2J\u001b]0;title\u0007\u001b[31mred')).toEqual([
    { text: '␛[2J␛]0;title␇', style: '' },
    { text: 'red', style: 'ansi-red' },
  ]);
});

test('markup is text, tabs are room, long lines are cut', () => {
  expect(ansiPieces('<b>\tx</b>\r')).toEqual([{ text: '<b>        x</b>', style: '' }]);
  expect(ansiPieces('x'.repeat(50_000))[0]?.text).toHaveLength(20_002);
});

test('parameters that make no sense do nothing', () => {
  expect(ansiPieces('\u001b[999;;38mx')).toEqual([{ text: 'x', style: '' }]);
});
