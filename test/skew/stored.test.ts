// Objects that earlier versions have stored are read by this one as they were.

import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { readStored, recordStored } from './stored.ts';

const folder = fileURLToPath(new URL('stored', import.meta.url));
const versions = readdirSync(folder);

/** The files of each version, which never change. */
const KEPT: Readonly<Record<string, string>> = {
  '0.1.0': '6a54709fa86013f81221da52488741f832d114d2f9a2b0cd2fa0d3023110351f',
};

test.each(versions)('objects that %s has stored', async (version) => {
  const { before, now } = await readStored(version);
  expect(Object.keys(before).length).toBeGreaterThan(80);
  expect(now).toEqual(before);
});

test('no recorded version is lost or recorded anew', () => {
  const found = versions.map((version) => {
    const hash = createHash('sha256');
    for (const name of readdirSync(join(folder, version)).toSorted())
      hash.update(name).update(readFileSync(join(folder, version, name)));
    return [version, hash.digest('hex')];
  });
  expect(Object.fromEntries(found)).toEqual(KEPT);
});

test('a recording has an object of every kind that is stored, and is read as it was', async () => {
  const into = mkdtempSync(join(tmpdir(), 'coxswain-recorded-'));
  onTestFinished(() => rmSync(into, { recursive: true, force: true }));
  const { count, missing } = await recordStored('now', into);
  expect(missing).toEqual([]);
  const { before, now } = await readStored('now', into);
  expect(Object.keys(before)).toHaveLength(count);
  expect(now).toEqual(before);
});
