// Links in a directory whose owner is not trusted.

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pathOf } from './directory.ts';
import { openInside } from './open-inside.ts';

let dir: string;
let root: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'open-inside-'));
  root = join(dir, 'volume');
  await mkdir(join(root, 'a/b'), { recursive: true });
  await writeFile(join(root, 'a/b/file'), 'inside');
  await writeFile(join(dir, 'file'), 'outside');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function read(path: string): Promise<string> {
  const place = await openInside(root, path);
  try {
    return await readFile(pathOf(place), 'utf8');
  } finally {
    await place.handle.close();
  }
}

test.each([
  ['a relative link', 'b/file', 'a/link'],
  ['an absolute link is one from the directory', '/a/b/file', 'a/link'],
  ['a link to a directory', '/a/b', 'a/link/file'],
  ['a link that leads up too far ends at the directory', '../../../../a/b/file', 'a/link'],
])('%s', async (_, target, path) => {
  await symlink(target, join(root, 'a/link'));
  expect(await read(path)).toBe('inside');
});

test('names outside are not found', async () => {
  await symlink(join(dir, 'file'), join(root, 'link'));
  for (const path of ['link', '../file', 'a/../../file', join(dir, 'file')])
    await expect(read(path), path).rejects.toMatchObject({ code: 'ENOENT' });
});

test('links that lead to each other are rejected', async () => {
  await symlink('two', join(root, 'one'));
  await symlink('one', join(root, 'two'));
  await expect(read('one')).rejects.toThrow('too many links');
});
