// Compares rules with upstream's results for the same schemas and objects, recorded in
// testing/upstream-rules.json.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { answer, type Answers } from '../testing/answers.ts';
import { ruleCases } from '../testing/rule-cases.ts';

const file = new URL('../testing/upstream-rules.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Answers;

test.each(ruleCases)('$name', async (given) => {
  const expected = recorded[given.name];
  expect(expected).toBeDefined();
  expect(withoutOwners(await answer(given))).toEqual(withoutOwners(expected));
});

/** Removes the owners of fields, which rules do not affect. */
function withoutOwners(given: unknown): unknown {
  return JSON.parse(
    JSON.stringify(given, (key, value: unknown) => (key === 'fields' ? undefined : value)),
  );
}
