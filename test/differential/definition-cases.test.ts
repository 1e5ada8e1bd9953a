// Compares our server's answers to the definitions of definition-cases.ts with the answers of
// Kubernetes 1.36.3 (definition-answers.json, recorded with compareDefinitions).

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Outcome, outcomeOf, sendCase, type Server } from './compare-definitions.ts';
import { definitionCases } from './definition-cases.ts';
import { Ours } from './ours.ts';

const recorded = JSON.parse(
  readFileSync(new URL('definition-answers.json', import.meta.url), 'utf8'),
) as Record<string, Outcome>;

let server: Server & Pick<Ours, 'stop'>;
beforeAll(async () => {
  server = await Ours.start();
});
afterAll(() => server.stop());

/**
 * Intended differences by case: a part of our message, and the same part of Kubernetes' message.
 */
const OTHERWISE: Readonly<Record<string, readonly [ours: string, theirs: string]>> = {
  // The list of versions is missing, which is read as an empty list.
  'no spec': ['Invalid value: []: must have', 'Invalid value: null: must have'],
  // Both refuse the pattern; ours has a size limit, which is checked first.
  'schema: nested repetitions': ['expression too large', 'invalid repeat count: `{100}`'],
};

test.each(definitionCases.map((given) => [given.name, given] as const))(
  '%s',
  async (name, given) => {
    const text = JSON.stringify(outcomeOf(await sendCase(server, given)));
    const [ours, theirs] = OTHERWISE[name] ?? ['', ''];
    expect(JSON.parse(text.replace(ours, theirs))).toEqual(recorded[name]);
  },
);
