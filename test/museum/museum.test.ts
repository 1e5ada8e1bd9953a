// The museum: known bugs of real controllers. Exploration finds each within 1,000 runs, and nothing in its repair.

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { explore } from '#cluster/embedded/explore.ts';
import type { Exhibit } from './exhibit.ts';

const EXHIBITS = join(dirname(fileURLToPath(import.meta.url)), 'exhibits');
const exhibits = await Promise.all(
  readdirSync(EXHIBITS)
    .filter((file) => file.endsWith('.ts'))
    .map(async (file) => {
      const { exhibit } = (await import(join(EXHIBITS, file))) as { readonly exhibit: Exhibit };
      return [file.slice(0, -'.ts'.length), exhibit] as const;
    }),
);

/** Runs an exhibit with the bug or with its repair. Rejects with what is found. */
async function run(exhibit: Exhibit, fixed: boolean): Promise<void> {
  if ('scenario' in exhibit) return exhibit.scenario(fixed);
  const {
    reconciler,
    test: steps,
    bug: _bug,
    sources: _sources,
    found: _found,
    ...options
  } = exhibit;
  const { complete } = await explore(steps, {
    maxRuns: 1000,
    ...options,
    reconciler: reconciler(fixed),
  });
  expect(complete).toBe(true);
}

test('the museum has its exhibits', () => {
  expect(exhibits.length).toBeGreaterThanOrEqual(20);
});

describe.each(exhibits)('%s', (_, exhibit) => {
  test(`is found: ${exhibit.bug}`, async () => {
    expect(exhibit.sources.length).toBeGreaterThan(0);
    await expect(run(exhibit, false)).rejects.toThrow(exhibit.found);
  });
  test('is not found in the repair', async () => {
    await run(exhibit, true);
  });
});
