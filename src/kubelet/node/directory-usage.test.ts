import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { directoryUsage } from './directory-usage.ts';

const KIB = 1024;
const { signal } = new AbortController();
let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'coxswain-usage-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Returns how much more is used than by the empty directory. */
async function added(
  make: () => void,
): Promise<{ readonly bytes: number; readonly inodes: number }> {
  const before = await directoryUsage(dir, signal);
  make();
  const after = await directoryUsage(dir, signal);
  return {
    bytes: (after?.usedBytes ?? 0) - (before?.usedBytes ?? 0),
    inodes: (after?.inodesUsed ?? 0) - (before?.inodesUsed ?? 0),
  };
}

test('counts the blocks of files at any depth', async () => {
  const { bytes, inodes } = await added(() => {
    mkdirSync(join(dir, 'a', 'b', 'c'), { recursive: true });
    writeFileSync(join(dir, 'a', 'b', 'c', 'file'), Buffer.alloc(256 * KIB, 1));
    writeFileSync(join(dir, 'file'), Buffer.alloc(64 * KIB, 1));
  });
  expect(bytes).toBeGreaterThanOrEqual(320 * KIB);
  expect(bytes).toBeLessThan(400 * KIB);
  expect(inodes).toBe(5);
});

test('a file with two names counts once, and a hole does not count', async () => {
  const { bytes, inodes } = await added(() => {
    writeFileSync(join(dir, 'file'), Buffer.alloc(256 * KIB, 1));
    linkSync(join(dir, 'file'), join(dir, 'second'));
    writeFileSync(join(dir, 'hole'), '');
    truncateSync(join(dir, 'hole'), 1024 ** 3);
  });
  expect(bytes).toBeLessThan(300 * KIB);
  expect(inodes).toBe(2);
});

test('links are not followed, not even one in a circle', async () => {
  const { bytes, inodes } = await added(() => {
    symlinkSync('/usr', join(dir, 'outside'));
    symlinkSync('.', join(dir, 'circle'));
  });
  expect(bytes).toBeLessThan(16 * KIB);
  expect(inodes).toBe(2);
});

test('a single file; a path that does not exist', async () => {
  writeFileSync(join(dir, 'file'), Buffer.alloc(8 * KIB, 1));
  expect((await directoryUsage(join(dir, 'file'), signal))?.inodesUsed).toBe(1);
  expect(await directoryUsage(join(dir, 'missing'), signal)).toBeUndefined();
});

test('a tree that is deeper than what is counted does not fail', async () => {
  let path = dir;
  for (let depth = 0; depth < 520; depth++) {
    path = join(path, 'd');
    mkdirSync(path);
  }
  expect((await directoryUsage(dir, signal))?.inodesUsed).toBe(501);
});

test('stops when the signal aborts', async () => {
  writeFileSync(join(dir, 'file'), '');
  await expect(directoryUsage(dir, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
});
