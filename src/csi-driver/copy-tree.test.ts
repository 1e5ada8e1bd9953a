import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copyTree } from './copy-tree.ts';

const tool = existsSync('/usr/bin/tar') || existsSync('/bin/tar');

let root: string;
let swapper: ChildProcess | undefined;
beforeEach(async () => {
  root = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'copy-tree-'));
  await mkdir(join(root, 'volume'));
});
afterEach(async () => {
  swapper?.kill('SIGKILL');
  swapper = undefined;
  await rm(root, { recursive: true, force: true });
});

test.skipIf(!tool)('files, modes and links are copied as they are', async () => {
  const from = join(root, 'volume');
  await mkdir(join(from, 'd'), { mode: 0o750 });
  await writeFile(join(from, 'd/f'), 'text', { mode: 0o640 });
  await symlink('/etc/passwd', join(from, 'link'));
  await copyTree(from, join(root, 'copy'));
  expect(await readFile(join(root, 'copy/d/f'), 'utf8')).toBe('text');
  expect((await lstat(join(root, 'copy/d/f'))).mode & 0o777).toBe(0o640);
  expect(await readlink(join(root, 'copy/link'))).toBe('/etc/passwd');
});

test.skipIf(!tool)('a failure has the message of the program', async () => {
  await expect(copyTree(join(root, 'missing'), join(root, 'copy'))).rejects.toThrow(
    /copying .*missing: tar: /,
  );
});

/** A program that replaces the directory `a` by a link and back, as fast as it can. */
const SWAPPER = `
const { mkdirSync, renameSync, symlinkSync, writeFileSync } = require('node:fs');
const [, , volume, outside] = process.argv;
mkdirSync(volume + '/a');
for (let i = 0; i < 300; i++) writeFileSync(volume + '/a/' + i, 'own');
symlinkSync(outside, volume + '/l');
process.send('ready');
const round = () => {
  for (let i = 0; i < 200; i++) {
    renameSync(volume + '/a', volume + '/d');
    renameSync(volume + '/l', volume + '/a');
    renameSync(volume + '/a', volume + '/l');
    renameSync(volume + '/d', volume + '/a');
  }
  setImmediate(round);
};
round();
`;

test.skipIf(!tool)(
  'a container that swaps a directory for a link gets nothing of the host',
  async () => {
    const outside = join(root, 'outside');
    await mkdir(outside);
    for (let i = 0; i < 300; i++) await writeFile(join(outside, String(i)), 'secret');
    await writeFile(join(root, 'swap.cjs'), SWAPPER);
    swapper = fork(join(root, 'swap.cjs'), [join(root, 'volume'), outside], { execArgv: [] });
    await new Promise((resolve, reject) => swapper?.once('message', resolve).once('exit', reject));
    let complete = 0;
    for (let i = 0; i < 20 || complete === 0; i++) {
      const copy = join(root, `copy${i}`);
      try {
        await copyTree(join(root, 'volume'), copy);
        complete++;
      } catch (error) {
        // The entry was no link any more when its target was read, for example.
        expect(String(error)).toContain('tar: ');
      }
      // The recursion of readdir follows links to directories, depending on the version of Node.
      for (const entry of await readdir(copy, { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        for (const name of await readdir(join(copy, entry.name)))
          expect(await readFile(join(copy, entry.name, name), 'utf8')).toBe('own');
      }
    }
    expect(swapper.exitCode).toBeNull();
  },
);
