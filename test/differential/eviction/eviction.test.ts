// Our eviction manager against recorded answers of upstream's (README.md here).

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeCases } from './cases.ts';
import { play, type Answer } from './replay.ts';

const answers = JSON.parse(
  readFileSync(new URL('answers.json', import.meta.url), 'utf8'),
) as readonly (readonly (readonly Answer[])[])[];

test('pods are evicted as by upstream, with the same messages, events and conditions', async () => {
  for (const [index, one] of makeCases('eviction', answers.length).entries())
    for (const [step, ours] of (await play(one)).entries())
      expect(answers[index]?.[step], `case ${index}, step ${step}`).toContainEqual(ours);
});
