// hostPath volumes: checks the path by the volume's type before a container uses it.

import { constants, type Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { bounded } from '#machinery/files/untrusted.ts';

/** O_NONBLOCK: a FIFO or device that appears at the path meanwhile does not block the call. */
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Checks the path, and creates it if the type allows that. Rejects with the reason why it cannot be
 * used.
 */
export async function checkHostPath(path: string, type: string): Promise<void> {
  if (type === '') return;
  let info = await statOrUndefined(path);
  switch (type) {
    case 'DirectoryOrCreate':
      if (info === undefined) {
        await mkdir(path, { recursive: true, mode: 0o755 });
        info = await look(path);
      }
      return require(info.isDirectory(), path, 'a directory');
    case 'Directory':
      return require(info?.isDirectory() === true, path, 'a directory');
    case 'FileOrCreate':
      if (info === undefined) {
        await bounded(
          `create ${path}`,
          async () => await (await open(path, CREATE, 0o644)).close(),
        );
        info = await look(path);
      }
      return require(info.isFile(), path, 'a file');
    case 'File':
      return require(info?.isFile() === true, path, 'a file');
    case 'Socket':
      return require(info?.isSocket() === true, path, 'a socket file');
    case 'CharDevice':
      return require(info?.isCharacterDevice() === true, path, 'a character device');
    case 'BlockDevice':
      return require(info?.isBlockDevice() === true, path, 'a block device');
    default:
      throw new Error(`${type} is an invalid volume type`);
  }
}

function require(holds: boolean, path: string, what: string): void {
  if (!holds) throw new Error(`hostPath type check failed: ${path} is not ${what}`);
}

/**
 * Returns file information, following links as the mount does. The path may be in a file system
 * that hangs.
 */
function look(path: string): Promise<Stats> {
  return bounded(`stat ${path}`, () => stat(path));
}

async function statOrUndefined(path: string): Promise<Stats | undefined> {
  try {
    return await look(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
