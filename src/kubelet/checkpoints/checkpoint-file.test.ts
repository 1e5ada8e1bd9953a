import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DurableCheckpointFile } from './checkpoint-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'checkpoint-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('writes in order, skips contents that are outdated, and leaves no other files', async () => {
  const path = join(dir, 'sub', 'state');
  const file = new DurableCheckpointFile(path);
  expect(await file.read()).toBeUndefined();
  const writes = Array.from({ length: 50 }, (_, index) => file.write(`v${index}`));
  await Promise.all(writes);
  expect(await file.read()).toBe('v49');
  expect(readdirSync(join(dir, 'sub'))).toEqual(['state']);
});

test('a failed write rejects and does not stop later ones', async () => {
  const file = new DurableCheckpointFile(join(dir, 'blocked', 'state'));
  writeFileSync(join(dir, 'blocked'), '');
  await expect(file.write('a')).rejects.toThrow();
  rmSync(join(dir, 'blocked'));
  await file.write('b');
  expect(readFileSync(join(dir, 'blocked', 'state'), 'utf8')).toBe('b');
});

test('a link in place of the file is not followed', async () => {
  writeFileSync(join(dir, 'secret'), 'secret');
  symlinkSync(join(dir, 'secret'), join(dir, 'state'));
  await expect(new DurableCheckpointFile(join(dir, 'state')).read()).rejects.toThrow();
});
