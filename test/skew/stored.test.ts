// Objects that earlier versions have stored are read by this one as they were.

import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readStored } from './stored.ts';

const versions = readdirSync(new URL('stored', import.meta.url));

test.each(versions)('objects that %s has stored', async (version) => {
  const { before, now } = await readStored(version);
  expect(Object.keys(before).length).toBeGreaterThan(80);
  expect(now).toEqual(before);
});
