// Parts of volumes: the cases of upstream's tests, and what happens while the container that has the
// volume swaps directories and links.

import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { execute } from '#machinery/execute.ts';
import { systemMounter } from './mounter.ts';
import { prepareSubpath } from './subpath.ts';

const mounter = systemMounter();
const skipped = mounter.available ? '' : ' (skipped: mounting takes root on Linux)';

let root: string;
let swapper: Worker | undefined;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'subpath-')));
  await mkdir(join(root, 'volume/a/b'), { recursive: true });
  await writeFile(join(root, 'volume/a/b/own'), '');
  await mkdir(join(root, 'outside/b'), { recursive: true });
  await writeFile(join(root, 'outside/b/secret'), 'secret');
  await symlink(join(root, 'outside'), join(root, 'volume/link'));
});
afterEach(async () => {
  await swapper?.terminate();
  swapper = undefined;
  for (const target of await mounter.mountsBelow(root)) await mounter.unmount(target);
  await rm(root, { recursive: true, force: true });
});

/** Functions for the swappers. Failures of a step are what a race is made of. */
const TOOLS = `
const fs = require('node:fs');
const { volume, outside } = require('node:worker_threads').workerData;
const attempt = (step) => {
  try {
    step();
    return true;
  } catch {
    return false;
  }
};
const move = (from, to) => attempt(() => fs.renameSync(volume + '/' + from, volume + '/' + to));
const drop = (name) => attempt(() => fs.rmSync(volume + '/' + name, { recursive: true, force: true }));
`;

interface Race {
  readonly name: string;
  readonly subPath: (round: number) => string;
  /** The body of an endless loop of a thread, which runs as fast as it can. */
  readonly step: string;
}

/** Changes that a container may make to its volume while the kubelet prepares a part of it. */
const races: readonly Race[] = [
  {
    name: 'a directory and a link to the outside change places',
    subPath: () => 'a/b',
    step: `
      move('a', 'aside');
      move('link', 'a');
      move('a', 'link');
      // Where the kubelet has made the directory in between.
      if (!move('aside', 'a')) drop('a');`,
  },
  {
    name: 'the directory in which missing ones are made becomes a link',
    subPath: (round) => `a/new-${round}/deep`,
    step: `
      move('a', 'aside');
      move('link', 'a');
      move('a', 'link');
      if (!move('aside', 'a')) drop('a');`,
  },
  {
    name: 'a missing directory appears as a link',
    subPath: () => 'fresh/b',
    step: `
      drop('fresh');
      attempt(() => fs.symlinkSync(outside, volume + '/fresh'));
      drop('fresh');
      attempt(() => fs.mkdirSync(volume + '/fresh/b', { recursive: true }));`,
  },
  {
    name: 'a file and a link to a file outside change places',
    subPath: () => 'a/b/own',
    step: `
      move('a/b/own', 'own');
      attempt(() => fs.symlinkSync(outside + '/b/secret', volume + '/a/b/own'));
      drop('a/b/own');
      if (!move('own', 'a/b/own')) drop('a/b/own');`,
  },
  {
    name: 'a link inside is turned to the outside',
    subPath: () => 'way/b',
    step: `
      drop('way');
      attempt(() => fs.symlinkSync('a', volume + '/way'));
      drop('way');
      attempt(() => fs.symlinkSync(outside, volume + '/way'));`,
  },
  {
    name: 'directories are removed while they are made',
    subPath: (round) => `gone/${round}/b`,
    step: `drop('gone');`,
  },
];

test.skipIf(!mounter.available).each(races)(
  `what is mounted is inside the volume: $name${skipped}`,
  async ({ subPath, step }) => {
    const volumePath = join(root, 'volume');
    const workerData = { volume: volumePath, outside: join(root, 'outside') };
    swapper = new Worker(`${TOOLS}for (;;) {${step}}`, { eval: true, workerData });
    let mounted = 0;
    // On a busy machine the part may be away for hundreds of rounds.
    for (let round = 0; mounted < 30 && (round < 400 || mounted === 0); round++) {
      const target = join(root, 'subpaths', String(round));
      let path: string;
      try {
        path = await prepareSubpath({ volumePath, subPath: subPath(round), target, mounter });
      } catch {
        // The part was not there, or was a link: the container is not started.
        continue;
      }
      mounted++;
      expect(await contentOf(path)).not.toContain('secret');
      await mounter.unmount(path);
    }
    expect(await readdir(join(root, 'outside'), { recursive: true })).toEqual(['b', 'b/secret']);
    expect(mounted).toBeGreaterThan(0);
  },
);

/** Returns the names in a directory, or the content of a file. */
async function contentOf(path: string): Promise<readonly string[]> {
  return (await stat(path)).isDirectory() ? readdir(path) : [await readFile(path, 'utf8')];
}

describe('as upstream', () => {
  const prepare = async (subPath: string): Promise<string> => {
    const target = join(root, 'subpaths', 'one');
    return prepareSubpath({ volumePath: join(root, 'volume'), subPath, target, mounter });
  };

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['a directory', {}, 'a/b'],
    ['a file', {}, 'a/b/own'],
    ['with dots and slashes', {}, './a//b/.'],
    ['a link inside', { way: 'a' }, 'way/b'],
    ['an absolute link inside', { way: 'VOLUME/a' }, 'way/b'],
    ['links to links', { one: 'two', two: 'VOLUME/three', three: 'a/b' }, 'one'],
    ['a link that leads out and in again', { way: '../volume/a' }, 'way/b'],
    ['a missing directory behind a link', { way: 'a' }, 'way/new/deep'],
  ])(`%s is prepared${skipped}`, async (_, links, subPath) => {
    for (const [name, target] of Object.entries(links))
      await symlink(target.replace('VOLUME', join(root, 'volume')), join(root, 'volume', name));
    const path = await prepare(subPath);
    const own = await realpath(join(root, 'volume', subPath));
    const [mounted, there] = await Promise.all([stat(path), stat(own)]);
    expect([mounted.dev, mounted.ino]).toEqual([there.dev, there.ino]);
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['a directory outside', {}, 'link'],
    ['a file outside', {}, 'link/b/secret'],
    ['a missing file outside', {}, 'link/new'],
    ['a missing directory in a directory outside', {}, 'link/b/new/deep'],
    ['a relative link to the outside', { way: '../outside' }, 'way'],
    ['a link in the middle to the outside', { 'a/way': '../../outside' }, 'a/way/b'],
    ['a link with dots behind a directory', { way: 'a/../../outside/b' }, 'way'],
    ['a link to the directory above', { way: '..' }, 'way/outside'],
    ['links that lead to each other', { one: 'two', two: 'one' }, 'one/b'],
    ['a link to nothing', { way: 'nothing' }, 'way'],
    ['a link to nothing outside', { way: '../outside/nothing' }, 'way/deep'],
    ['a file as a directory', {}, 'a/b/own/deep'],
    ['a path with dots', {}, 'a/../../outside'],
    ['an absolute path', {}, '/a'],
  ])('%s is rejected, and nothing is made', async (_, links, subPath) => {
    for (const [name, target] of Object.entries(links))
      await symlink(target, join(root, 'volume', name));
    await expect(prepare(subPath)).rejects.toThrow();
    expect(await readdir(join(root, 'outside'), { recursive: true })).toEqual(['b', 'b/secret']);
    expect(await mounter.mountsBelow(root)).toEqual([]);
  });

  test(`a named pipe and a socket are bound without being opened${skipped}`, async () => {
    await execute(['mkfifo', join(root, 'volume/pipe')], '');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(root, 'volume/socket'), resolve));
    try {
      expect((await stat(await prepare('pipe'))).isFIFO()).toBe(true);
      expect((await stat(await prepare('socket'))).isSocket()).toBe(true);
      await expect(prepare('pipe/below')).rejects.toThrow();
    } finally {
      server.close();
    }
  });

  test.skipIf(!mounter.available)(
    `the part replaces what is mounted at its path already${skipped}`,
    async () => {
      const target = await prepare('a/b');
      // A container starts again, with a file in place of the directory.
      await rm(join(root, 'volume/a/b'), { recursive: true });
      await writeFile(join(root, 'volume/a/b'), 'now a file');
      expect(await prepare('a/b')).toBe(target);
      expect(await readFile(target, 'utf8')).toBe('now a file');
      expect(await mounter.mountsBelow(target)).toEqual([target]);
    },
  );

  test.skipIf(!mounter.available)(
    `a part that was deleted can be unmounted, and made again${skipped}`,
    async () => {
      const target = await prepare('a/b');
      await rm(join(root, 'volume/a'), { recursive: true });
      await mounter.unmount(target);
      expect(await readdir(await prepare('a/b'))).toEqual([]);
    },
  );
});

test('a missing part gets the mode of the volume, with the set-group-ID and sticky bits', async () => {
  const volumePath = join(root, 'volume');
  await chmod(volumePath, 0o3777);
  const target = join(root, 'subpaths', 'one');
  await prepareSubpath({ volumePath, subPath: 'new/part', target, mounter });
  for (const path of ['new', 'new/part'])
    expect((await stat(join(volumePath, path))).mode & 0o7777, path).toBe(0o3777);
});
