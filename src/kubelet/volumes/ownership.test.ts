import { lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { execute } from '#machinery/execute.ts';
import { belongsToGroup, setVolumeGroup } from './ownership.ts';

const GROUP = 4321;
const isRoot = process.getuid?.() === 0;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ownership-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Returns a volume with a directory, a file and a link to a file outside. */
async function fill(volume: string, outside: string): Promise<void> {
  await writeFile(outside, '');
  await mkdir(join(volume, 'd'), { recursive: true, mode: 0o700 });
  await writeFile(join(volume, 'd', 'f'), '', { mode: 0o600 });
  await symlink(outside, join(volume, 'link'));
}

const stateOf = async (path: string): Promise<readonly [number, string]> => {
  const { gid, mode } = await lstat(path);
  return [gid, (mode & 0o7777).toString(8)];
};

test.skipIf(!isRoot)(
  'a volume belongs to the group with all its files, and no other file',
  async () => {
    const [volume, outside] = [join(root, 'volume'), join(root, 'outside')];
    await fill(volume, outside);
    const before = await stateOf(outside);
    expect(await belongsToGroup(volume, GROUP, false)).toBe(false);
    await setVolumeGroup(volume, GROUP, false);
    expect(await belongsToGroup(volume, GROUP, false)).toBe(true);
    expect(await stateOf(join(volume, 'd'))).toEqual([GROUP, '2770']);
    expect(await stateOf(join(volume, 'd', 'f'))).toEqual([GROUP, '660']);
    expect((await stateOf(join(volume, 'link')))[0]).toBe(GROUP);
    expect(await stateOf(outside)).toEqual(before);
  },
);

test.skipIf(!isRoot)('a read-only file system stays as it is', async (context) => {
  const volume = join(root, 'mount');
  await mkdir(volume);
  const mounted = await execute(['mount', '-t', 'tmpfs', 'tmpfs', volume], '');
  if (mounted.code !== 0) context.skip(`mount: ${mounted.stderr}`);
  try {
    await fill(volume, join(root, 'outside'));
    const before = await stateOf(join(volume, 'd', 'f'));
    expect((await execute(['mount', '-o', 'remount,ro', volume], '')).code).toBe(0);
    await setVolumeGroup(volume, GROUP, false);
    expect(await stateOf(join(volume, 'd', 'f'))).toEqual(before);
  } finally {
    await execute(['umount', volume], '');
  }
});

test.skipIf(!isRoot)('a volume that does not exist is an error', async () => {
  await expect(setVolumeGroup(join(root, 'none'), GROUP, false)).rejects.toThrow('ENOENT');
});
