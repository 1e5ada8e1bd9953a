import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TemplateTexts } from './template-texts.ts';

test('texts are equal if all parts are, whatever was joined before', () => {
  const word = fc.constantFrom('', 'a', 'b', 'ab');
  const parts = fc.record({
    first: word,
    more: fc.array(fc.tuple(fc.constantFrom('p', 'q'), word), { maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(parts, { minLength: 2, maxLength: 20 }), (lists) => {
      const texts = new TemplateTexts();
      const joined = lists.map(({ first, more }) => {
        let template = texts.begin(first);
        for (const [plugin, text] of more) template = texts.with(template, plugin, text);
        return template.text;
      });
      const expected = lists.map((list) => JSON.stringify(list));
      for (const [i, text] of joined.entries())
        for (const [j, other] of joined.entries())
          expect(text === other).toBe(expected[i] === expected[j]);
    }),
  );
});

test('more templates than are kept have texts of their own', () => {
  const texts = new TemplateTexts();
  const textOf = (i: number): string => texts.with(texts.begin('0'), 'p', String(i)).text;
  const all = Array.from({ length: 10_000 }, (_, i) => textOf(i));
  expect(new Set(all).size).toBe(all.length);
  expect(Array.from(all, (_, i) => textOf(i))).toEqual(all);
});
