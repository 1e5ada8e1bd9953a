import { expect, test } from 'vitest';
import { readFlags } from './flags.ts';

const flags = {
  output: { type: 'string', default: 'out' },
  only: { type: 'string' },
  list: { type: 'boolean', default: false },
} as const;
const read = (...args: readonly string[]): unknown =>
  readFlags('nightly', 'usage: nightly\n', flags, args);

test('values are read, and defaults are used', () => {
  expect(read('--list', '--only', 'a')).toMatchObject({
    values: { output: 'out', only: 'a', list: true },
  });
});

test('--help prints the usage', () => {
  expect(read('--help', '--list')).toEqual({ text: 'usage: nightly\n', status: 0 });
});

test.each([
  [['--no-such'], "Unknown option '--no-such'"],
  [['--only'], "Option '--only <value>' argument missing"],
  [['--list=3'], "Option '--list' does not take an argument"],
  [['extra'], "Unexpected argument 'extra'"],
])('%s is rejected with the reason and the usage', (args, reason) => {
  const { text, status } = read(...args) as { text: string; status: number };
  expect(status).toBe(2);
  expect(text).toContain(`nightly: ${reason}`);
  expect(text).toContain('usage: nightly\n');
});
