import { readFileSync } from 'node:fs';
import { replayTranscript } from 'coxswain/testing';
import { expect, test } from 'vitest';

test('a rollout, as text', async () => {
  const file = new URL('rollout.txt', import.meta.url);
  const replayed = await replayTranscript(readFileSync(file, 'utf8'));
  // vitest -u takes over the answers of now.
  await expect(replayed).toMatchFileSnapshot(file.pathname);
});
