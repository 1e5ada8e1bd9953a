import { describe, expect, test } from 'vitest';

import { pemBlocks } from './pem.ts';

const block = (type: string, contents = 'eA==\n', headers = ''): string =>
  `-----BEGIN ${type}-----\n${headers}${contents}-----END ${type}-----\n`;
const typesOf = (text: string): string[] => [...pemBlocks(text)].map(({ type }) => type);

test('parses blocks, and ignores the text around them', () => {
  expect([
    ...pemBlocks(`before\n${block('A')}between\n${block('B', 'eHg=\n', 'Key: value\n\n')}after`),
  ]).toEqual([
    { type: 'A', hasHeaders: false, bytes: Buffer.from('x') },
    { type: 'B', hasHeaders: true, bytes: Buffer.from('xx') },
  ]);
});

test.each([
  ['another type at the end', '-----BEGIN A-----\neA==\n-----END B-----\n'],
  ['text behind the END line', '-----BEGIN A-----\neA==\n-----END A-----  x\n'],
  ['contents that are not base64', block('A', 'e\n')],
  ['a BEGIN line that is not one', ' -----BEGIN A-----\neA==\n-----END A-----\n'],
  ['no END line', '-----BEGIN A-----\neA==\n'],
])('ignores a block with %s', (_what, text) => {
  expect(typesOf(text)).toEqual([]);
});

test('accepts white space at the ends of lines', () => {
  expect(typesOf('-----BEGIN A----- \t\r\neA== \r\n-----END A-----\t \r\n')).toEqual(['A']);
});

describe('takes linear time', () => {
  const LENGTH = 2_000_000;
  const repeat = (text: string): string => text.repeat(LENGTH / text.length);
  const spaces = ' '.repeat(LENGTH);
  test.each([
    ['BEGIN lines', repeat('-----BEGIN A-----\n'), []],
    ['BEGIN lines and one END line', `${repeat('-----BEGIN B-----\n')}${block('A')}`, ['A']],
    ['END lines', repeat('\n-----END A-----'), []],
    ['unfinished END lines', repeat('\n-----END '), []],
    ['BEGIN lines that have no end', `${repeat('-----BEGIN ')}\neA==\n-----END A-----`, []],
    ['a BEGIN line of spaces', `-----BEGIN A-----${spaces}x\neA==\n-----END A-----`, []],
    ['an END line of spaces', `-----BEGIN A-----\neA==\n-----END A-----${spaces}x`, []],
    ['headers', block('A', 'eA==\n', `${repeat('a: b\n')}\n`), ['A']],
    ['lines without a colon', block('A', repeat('eHg0\n')), ['A']],
    ['empty lines', block('A', `${repeat('\n')}eA==\n`), ['A']],
    ['base64', block('A', `${repeat('eHg0')}\n`), ['A']],
    ['almost base64', block('A', `${repeat('eHg0')}!\n`), []],
  ])('%s', (_what, text, types) => {
    const before = process.cpuUsage();
    expect(new Set(typesOf(text))).toEqual(new Set(types));
    const { user, system } = process.cpuUsage(before);
    // Linear work takes some 20 ms, quadratic work minutes.
    expect((user + system) / 1000).toBeLessThan(2000);
  });
});
