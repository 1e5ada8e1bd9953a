import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pathsIn } from './launch.ts';
import { makeSocketDirectory } from './socket-directory.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'socket-directory-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('a directory is created for the user alone, and found again', async () => {
  const path = join(root, 'a', 'b');
  await makeSocketDirectory(path);
  expect(statSync(path).mode & 0o777).toBe(0o711);
  await makeSocketDirectory(path);
});

test('a directory to which others may write is rejected', async () => {
  const path = join(root, 'open');
  mkdirSync(path);
  for (const mode of [0o777, 0o775, 0o757]) {
    chmodSync(path, mode);
    await expect(makeSocketDirectory(path)).rejects.toThrow('only this user may write to');
  }
});

test('a link to a directory is rejected', async () => {
  const path = join(root, 'link');
  mkdirSync(join(root, 'target'));
  symlinkSync(join(root, 'target'), path);
  await expect(makeSocketDirectory(path)).rejects.toThrow('only this user may write to');
});

test('a long path leads to a place that only root can write to', () => {
  const { socket } = pathsIn(`/${'long/'.repeat(30)}containerd`);
  expect(socket).toMatch(/^\/run\/coxswain-[0-9a-f]{16}\/containerd\.sock$/);
});
