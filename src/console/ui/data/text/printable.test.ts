import { expect, test } from 'vitest';
import { durationText } from './age.ts';
import { printable } from './printable.ts';

test.each([
  ['plain – ünïcode 日本', 'plain – ünïcode 日本'],
  ['\u001b[31mred\u0007', '␛[31mred␇'],
  ['a\u202egnp.exe', 'a⟨202E⟩gnp.exe'],
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
])('printable %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test.each([
  [0, '0s'],
  [119_000, '119s'],
  [200_000, '3m20s'],
  [180_000, '3m'],
  [5 * 3_600_000 + 60_000, '5h1m'],
  [30 * 3_600_000, '30h'],
  [3 * 86_400_000, '3d'],
  [400 * 86_400_000, '400d'],
  [800 * 86_400_000, '2y70d'],
  [-60_000, '<invalid>'],
  [Number.NaN, ''],
])('durationText %d', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
