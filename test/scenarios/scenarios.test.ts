// Runs every transcript of this folder and of the documentation, and compares the answers with the
// recorded ones. To record the current answers: UPDATE=1 npx vitest run --project scenarios, and
// then read the diff.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { replayTranscript } from '#cluster/embedded/transcript/index.ts';

const folder = import.meta.dirname;
const docs = join(folder, '../../docs');
const update = process.env['UPDATE'] === '1';
/** A simulated day takes some seconds, and more on a busy machine. */
const TIMEOUT_MS = 240_000;

function compare(path: string, expected: string, actual: string): void {
  if (update && actual !== expected) writeFileSync(path, actual);
  else expect(actual).toBe(expected);
}

function filesIn(directory: string, ending: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(directory, name));
}

describe('transcripts', () => {
  test.each(filesIn(folder, '.txt').map((path) => [basename(path), path] as const))(
    '%s',
    async (_name, path) => {
      const expected = readFileSync(path, 'utf8');
      compare(path, expected, await replayTranscript(expected));
    },
    TIMEOUT_MS,
  );
});

describe('transcripts in the documentation', () => {
  const block = /(?<=^```transcript\n)[\s\S]*?(?=^```$)/gm;
  const pages = filesIn(docs, '.md').filter(
    (path) => readFileSync(path, 'utf8').match(block) !== null,
  );

  test.each(pages.map((path) => [basename(path), path] as const))(
    '%s',
    async (_name, path) => {
      const expected = readFileSync(path, 'utf8');
      const replayed: string[] = [];
      for (const [text] of expected.matchAll(block)) replayed.push(await replayTranscript(text));
      compare(
        path,
        expected,
        expected.replace(block, () => replayed.shift()!),
      );
    },
    TIMEOUT_MS,
  );
});
