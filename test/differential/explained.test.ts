import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { Explanations, parseExplanations } from './explained.ts';

test('a difference is explained by its request and its line', () => {
  const explanations = new Explanations(
    parseExplanations('# a comment\n\n^GET /a\tcode: 400, reference 500\ta wrong request\n'),
  );
  const line = 'code: 400, reference 500';
  expect(explanations.unexplained('GET /b', [line])).toEqual([line]);
  expect(explanations.unused).toHaveLength(1);
  expect(explanations.unexplained('GET /a', [line, 'code: 400, reference 500 or so'])).toEqual([
    'code: 400, reference 500 or so',
  ]);
  expect(explanations.unused).toEqual([]);
});

test('an explanation that a run may lack is not unused', () => {
  const explanations = new Explanations(
    parseExplanations('^GET /a\tb\ta reason\n^GET /b\tb\ta reason\toccasional\n'),
  );
  expect(explanations.unused.map(({ request }) => request.source)).toEqual(['^GET \\/a']);
});

test.each(['a\tb', 'a\tb\t ', 'a\tb\tc\td', 'a\tb\tc\toccasional\te', 'a'])(
  '%j is rejected',
  (line) => {
    expect(() => parseExplanations(`\n${line}\n`)).toThrow('explained.tsv:2:');
  },
);

test('the file has this form, and each reason is a sentence', () => {
  const text = readFileSync(new URL('explained.tsv', import.meta.url), 'utf8');
  const explanations = parseExplanations(text);
  expect(explanations.length).toBeGreaterThan(0);
  for (const { reason } of explanations) expect(reason).toMatch(/^[A-Z].*\.$/);
});
