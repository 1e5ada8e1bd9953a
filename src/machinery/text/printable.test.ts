import { describe, expect, test } from 'vitest';
import { printable, printableJson, printableLines } from './printable.ts';

/** Each of them does something at some terminal. */
const HOSTILE = [
  '\x1b[2J',
  '\x1b]0;title\x07',
  '\x9b31m',
  'a\rb',
  'a\bb',
  '\x7f',
  '\0',
  '\u202egnp.exe',
  '\u2066x\u2069',
  '\u200f',
  '\ud800',
];

/** Everything that a terminal may act on. */
// eslint-disable-next-line no-control-regex
const ACTS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

describe('text from elsewhere', () => {
  test.each(HOSTILE)('%j cannot act on a terminal', (text) => {
    for (const safe of [printable(text), printableLines(text), printableJson({ [text]: text })]) {
      expect(safe).not.toMatch(ACTS);
      expect(Buffer.from(safe).toString()).toBe(safe);
    }
  });

  test('stays readable: the character that was there is shown', () => {
    expect(printable('\x1b[31mred\x7f\u202e')).toBe('^[[31mred^?\\u202e');
    expect(printable('line\nnext\ttab')).toBe('line^Jnext^Itab');
  });

  test('is otherwise unchanged', () => {
    const text = 'Zürich 東京 🚢 "quoted" \\ é';
    expect(printable(text)).toBe(text);
    expect(printableLines(`${text}\r\n\t${text}\n`)).toBe(`${text}\n\t${text}\n`);
  });

  test('as JSON means the same', () => {
    const value = { text: 'a\nb\x9b\u202e"\\', list: [1, null, true] };
    expect(JSON.parse(printableJson(value))).toEqual(value);
    expect(JSON.parse(printableJson(value, 2))).toEqual(value);
  });
});
