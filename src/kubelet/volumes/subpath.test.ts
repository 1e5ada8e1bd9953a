// Parts of volumes while the container that has the volume swaps directories and links.

import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
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
  await writeFile(join(root, 'outside/b/secret'), '');
  await symlink(join(root, 'outside'), join(root, 'volume/link'));
});
afterEach(async () => {
  await swapper?.terminate();
  swapper = undefined;
  for (const target of await mounter.mountsBelow(root)) await mounter.unmount(target);
  await rm(root, { recursive: true, force: true });
});

/**
 * Swaps the directory `a` and the link as fast as it can. Where the kubelet has made `a` in between, it
 * is removed.
 */
const SWAPPER = `
const { renameSync, rmSync } = require('node:fs');
const { volume } = require('node:worker_threads').workerData;
const swap = (from, to) => {
  try {
    renameSync(volume + '/' + from, volume + '/' + to);
  } catch {
    if (to === 'a') rmSync(volume + '/a', { recursive: true, force: true });
  }
};
for (;;) {
  swap('a', 'aside');
  swap('link', 'a');
  swap('a', 'link');
  swap('aside', 'a');
}`;

test.skipIf(!mounter.available)(
  `what is mounted is inside the volume, whatever is swapped meanwhile${skipped}`,
  { timeout: 120_000 },
  async () => {
    const volumePath = join(root, 'volume');
    swapper = new Worker(SWAPPER, { eval: true, workerData: { volume: volumePath } });
    let mounted = 0;
    for (let round = 0; round < 400 && mounted < 40; round++) {
      const target = join(root, 'subpaths', String(round));
      let path: string;
      try {
        path = await prepareSubpath({ volumePath, subPath: 'a/b', target, mounter });
      } catch {
        // The part was not there, or was a link: the container is not started.
        continue;
      }
      mounted++;
      expect(await readdir(path)).not.toContain('secret');
    }
    expect(await readdir(join(root, 'outside'), { recursive: true })).toEqual(['b', 'b/secret']);
    expect(mounted).toBeGreaterThan(0);
  },
);

test('a missing part gets the mode of the volume, with the set-group-ID and sticky bits', async () => {
  const volumePath = join(root, 'volume');
  await chmod(volumePath, 0o3777);
  const target = join(root, 'subpaths', 'one');
  await prepareSubpath({ volumePath, subPath: 'new/part', target, mounter });
  for (const path of ['new', 'new/part'])
    expect((await stat(join(volumePath, path))).mode & 0o7777, path).toBe(0o3777);
});
