// Rotates container logs so that they do not fill the disk: a file above the limit is moved and the
// container gets a new one; the oldest moved files are removed.

import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

export interface RotateLogsInput {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the running containers. */
  readonly containers: readonly { readonly id: string; readonly logPath: string }[];
  readonly maxBytes: number;
  /** The maximum number of files, including the current one. */
  readonly maxFiles: number;
}

/**
 * Rotates the logs of all containers. A failure for one container is logged, and retried in the
 * next pass.
 */
export async function rotateLogs(input: RotateLogsInput): Promise<void> {
  for (const { id, logPath } of input.containers) {
    if (logPath === '') continue;
    try {
      const info = await lstat(logPath);
      // A file of another type is not the runtime's log: there is nothing to rotate.
      if (info.isFile() && info.size >= input.maxBytes) await rotate(input, id, logPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        input.logger.warn('container log not rotated', { container: id, err: error });
    }
  }
}

async function rotate(input: RotateLogsInput, id: string, path: string): Promise<void> {
  const directory = dirname(path);
  const prefix = `${basename(path)}.`;
  const old = (await readdir(directory)).filter((name) => name.startsWith(prefix)).toSorted();
  // The names contain the time, so sorting them sorts by age. One fewer is kept, because of the
  // file that is moved now.
  for (const name of old.slice(0, Math.max(old.length - Math.max(input.maxFiles - 2, 0), 0)))
    await rm(join(directory, name), { force: true });
  const stamp = new Date(input.clock.now()).toISOString().slice(0, 19).replace(/[-:T]/g, '');
  const moved = `${path}.${stamp.slice(0, 8)}-${stamp.slice(8)}`;
  await rename(path, moved);
  try {
    await input.runtime.reopenContainerLog(id);
  } catch (error) {
    // The container still writes to the moved file: it is moved back, so that no output is lost.
    await rename(moved, path);
    throw error;
  }
}
