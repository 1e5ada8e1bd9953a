// The machine, by the programs of util-linux and e2fsprogs. Mounting takes root on Linux.

import { chmod, lstat, mkdir, open, readFile, rmdir, stat, statfs, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { execute } from '#machinery/execute.ts';
import { parseMountPoints } from '#machinery/files/mount-points.ts';
import { removeTree } from '#machinery/files/directory.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { copyTree } from './copy-tree.ts';
import type { DriverHost } from './driver-host.ts';

/** The exit code of blkid for a device without contents. */
const BLANK = 2;
/** The exit code of e2fsck for errors that it has corrected. */
const FSCK_CORRECTED = 1;

/** A copy of a volume has its UUID, and XFS mounts no two file systems with the same UUID otherwise. */
const XFS_OF_COPY = 'nouuid';

/** Runs a program. Returns its output; rejects with its messages if it fails. */
async function run(...command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await execute(command, '');
  if (code !== 0) throw new RpcError('INTERNAL', `${command.join(' ')}: ${stderr.trim()}`);
  return stdout.trim();
}

async function mountPoints(): Promise<readonly string[]> {
  return parseMountPoints(await readFile('/proc/self/mountinfo', 'utf8'));
}

const isMounted = async (path: string): Promise<boolean> => (await mountPoints()).includes(path);

/** Returns the device that the image is attached to. */
async function deviceOf(image: string): Promise<string | undefined> {
  const listed = await run('losetup', '--list', '--noheadings', '--output', 'NAME', '-j', image);
  const device = listed.split('\n')[0]?.trim();
  return device === undefined || device === '' ? undefined : device;
}

async function remove(path: string): Promise<void> {
  const below = (await mountPoints()).filter(
    (point) => point === path || point.startsWith(`${path}/`),
  );
  if (below.length > 0)
    throw new RpcError('FAILED_PRECONDITION', `still mounted: ${below.join(', ')}`);
  await removeTree(path);
}

/** Enlarges a file system of the ext family to its device, which may have grown since. */
async function growUnmounted(device: string): Promise<void> {
  const header = await run('dumpe2fs', '-h', device);
  const number = (name: string): number =>
    Number(new RegExp(`^${name}: *(\\d+)$`, 'm').exec(header)?.[1] ?? Number.NaN);
  const blockSize = number('Block size');
  const missing = (await deviceSize(device)) - number('Block count') * blockSize;
  if (!(missing >= blockSize)) return;
  const check = ['e2fsck', '-f', '-p', device];
  const { code, stderr } = await execute(check, '');
  if (code > FSCK_CORRECTED) throw new RpcError('INTERNAL', `${check.join(' ')}: ${stderr.trim()}`);
  await run('resize2fs', device);
}

async function deviceSize(device: string): Promise<number> {
  return Number(await run('blockdev', '--getsize64', device));
}

async function makeMountPoint(path: string, isFile: boolean): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  if (isFile) await (await open(path, 'a', 0o660)).close();
  else await mkdir(path, { recursive: true, mode: 0o750 });
}

/** Returns a mount point of the image's file system; undefined if it is not mounted. */
async function mountPointOf(image: string): Promise<string | undefined> {
  const device = await deviceOf(image);
  if (device === undefined) return undefined;
  const list = ['findmnt', '--noheadings', '--raw', '--output', 'TARGET', '--source', device];
  const { stdout } = await execute(list, '');
  const [target = ''] = stdout.split('\n');
  return target === '' ? undefined : target;
}

export const systemHost: DriverHost = {
  async makeDirectory(path) {
    await remove(path);
    await mkdir(path, { recursive: true });
    // The process's umask restricts the mode of a new directory.
    await chmod(path, 0o777);
  },

  async makeImage(path, bytes) {
    await remove(path);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'wx', 0o600);
    try {
      await file.truncate(bytes);
    } finally {
      await file.close();
    }
  },

  async growImage(path, bytes) {
    const file = await open(path, 'r+');
    try {
      if ((await file.stat()).size < bytes) await file.truncate(bytes);
    } finally {
      await file.close();
    }
  },

  async copy(from, to) {
    await remove(to);
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    // Data that containers have written must be in the file.
    await run('sync', '--file-system', from);
    if ((await lstat(from)).isDirectory()) await copyTree(from, to);
    else await run('cp', '--archive', '--reflink=auto', '--sparse=auto', '--', from, to);
  },

  remove,

  async exists(path) {
    try {
      await lstat(path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  },

  async usage(path) {
    const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path);
    return {
      bytes: {
        total: blocks * bsize,
        available: bavail * bsize,
        used: (blocks - bfree) * bsize,
      },
      inodes: { total: files, available: ffree, used: files - ffree },
    };
  },

  async attach(image, readonly) {
    // Not `blockdev --setro`: the next image at that device would be read-only, too.
    const options = ['--find', '--show', ...(readonly ? ['--read-only'] : [])];
    return (await deviceOf(image)) ?? (await run('losetup', ...options, '--', image));
  },

  async detach(image) {
    const device = await deviceOf(image);
    if (device !== undefined) await run('losetup', '--detach', device);
  },

  async grow(device, mountPoint) {
    await run('losetup', '--set-capacity', device);
    if (mountPoint === undefined) return;
    const type = await run('blkid', '--probe', '--match-tag', 'TYPE', '--output', 'value', device);
    if (type === 'xfs') {
      await run('xfs_growfs', mountPoint);
      return;
    }
    const { code, stderr } = await execute(['resize2fs', device], '');
    if (code === 0) return;
    const message = `resize2fs ${device}: ${stderr.trim()}`;
    // The kernel lets only privileged processes (CAP_SYS_RESOURCE) resize what is mounted.
    throw new RpcError(
      stderr.includes('Permission denied') ? 'FAILED_PRECONDITION' : 'INTERNAL',
      message,
    );
  },

  async tune(image, { readAheadKiB }) {
    const device = readAheadKiB === undefined ? undefined : await deviceOf(image);
    // blockdev counts in sectors of 512 bytes.
    if (device !== undefined) await run('blockdev', '--setra', String(readAheadKiB! * 2), device);
  },

  async freeze(images) {
    const frozen: string[] = [];
    const thaw = async (): Promise<void> => {
      const failures: unknown[] = [];
      for (const point of frozen.splice(0))
        await run('fsfreeze', '--unfreeze', point).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    };
    try {
      for (const image of images) {
        const point = await mountPointOf(image);
        if (point === undefined) continue;
        await run('fsfreeze', '--freeze', point);
        frozen.push(point);
      }
    } catch (error) {
      await thaw();
      throw error;
    }
    return thaw;
  },

  async thaw(images) {
    for (const image of images) {
      const point = await mountPointOf(image);
      // Fails for a file system that is not frozen.
      if (point !== undefined) await execute(['fsfreeze', '--unfreeze', point], '');
    }
  },

  isMounted,

  async mountDevice(device, path, { fsType, flags }) {
    await makeMountPoint(path, false);
    const probe = ['blkid', '--probe', '--match-tag', 'TYPE', '--output', 'value', device];
    const { code, stderr } = await execute(probe, '');
    if (code === BLANK) await run(`mkfs.${fsType}`, device);
    else if (code !== 0) throw new RpcError('INTERNAL', `${probe.join(' ')}: ${stderr.trim()}`);
    else if (fsType.startsWith('ext')) await growUnmounted(device);
    const needed = fsType === 'xfs' && !flags.includes('nouuid') ? [...flags, XFS_OF_COPY] : flags;
    const options = needed.length === 0 ? [] : ['-o', needed.join(',')];
    await run('mount', '-t', fsType, ...options, device, path);
  },

  async bind(source, path, readonly, flags) {
    await makeMountPoint(path, !(await stat(source)).isDirectory());
    await run('mount', '--bind', source, path);
    const options = [...flags, ...(readonly ? ['ro'] : [])];
    if (options.length === 0) return;
    try {
      await run('mount', '-o', ['remount', 'bind', ...options].join(','), path);
    } catch (error) {
      await run('umount', path);
      throw error;
    }
  },

  async unmount(path) {
    while (await isMounted(path)) await run('umount', path);
    try {
      await rmdir(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOTDIR') await unlink(path);
      else if (code !== 'ENOENT') throw error;
    }
  },
};
