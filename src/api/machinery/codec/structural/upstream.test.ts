// Compares the codec with upstream's results for the same schemas and objects, recorded in
// testing/upstream.json.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { answer, type Answers } from './testing/answers.ts';
import { cases } from './testing/cases.ts';
import { published, type PublishedAnswer, publishedCases } from './testing/openapi.ts';

const recorded = JSON.parse(
  readFileSync(new URL('testing/upstream.json', import.meta.url), 'utf8'),
) as {
  answers: Answers;
  published: Record<string, PublishedAnswer>;
};

describe("upstream's documents", () => {
  test.each(publishedCases)('$name', (given) => {
    expect(published(given)).toEqual(recorded.published[given.name]);
  });
});

describe("upstream's results", () => {
  test.each(cases)('$name', async (given) => {
    const expected = recorded.answers[given.name];
    expect(expected).toBeDefined();
    const ours = await answer(given);
    expect(ours).toEqual(expected);
    // The order of keys counts, too.
    expect(JSON.stringify(ours.objects)).toBe(JSON.stringify(expected?.objects));
  });
});
