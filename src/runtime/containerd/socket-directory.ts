// The directory of a private containerd's socket. Its owner can put another socket into it, and
// would then get the environment variables of containers, with their secrets.

import { lstat, mkdir } from 'node:fs/promises';
import { CriError } from '#cri/index.ts';

/** Write permission for the group and for others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Creates the directory unless it exists. Rejects with CriError (Unavailable) if another user owns
 * it or may write to it.
 */
export async function makeSocketDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o711 });
  const found = await lstat(path);
  const isOwn = found.uid === (process.getuid?.() ?? found.uid);
  if (found.isDirectory() && isOwn && (found.mode & WRITABLE_BY_OTHERS) === 0) return;
  throw new CriError(
    'Unavailable',
    `${path} is not a directory that only this user may write to: remove it, or use a shorter --data-dir`,
  );
}
