// Runs every transcript of this folder and compares it with its file. To take over today's answers: UPDATE=1 npx vitest run
// --project scenarios, and then read the diff.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Session } from './session.ts';
import { formatStep, parseTranscript } from './transcript.ts';

const folder = import.meta.dirname;
const update = process.env['UPDATE'] === '1';

async function replay(text: string): Promise<string> {
  const { steps, end } = parseTranscript(text);
  const session = new Session();
  let replayed = '';
  try {
    for (const step of steps) replayed += formatStep(step, await session.run(step.command, step.input));
  } finally {
    await session.stop();
  }
  return replayed + end.map((line) => `${line}\n`).join('');
}

describe('transcripts', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.txt'));

  test.each(files)(
    '%s',
    async (file) => {
      const path = join(folder, file);
      const expected = readFileSync(path, 'utf8');
      const actual = await replay(expected);
      if (update && actual !== expected) writeFileSync(path, actual);
      else expect(actual).toBe(expected);
      // A simulated day takes some seconds, more on a machine that has other things to do.
    },
    240_000,
  );
});
