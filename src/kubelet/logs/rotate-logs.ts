// Keeps container logs from filling the disk: a file that has grown too large is moved aside and
// the container gets a new one; of those moved aside, the oldest are removed.

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
  /** The one that is written to included. */
  readonly maxFiles: number;
}

/** A failure for one container is logged, and retried at the next run. */
export async function rotateLogs(input: RotateLogsInput): Promise<void> {
  for (const { id, logPath } of input.containers) {
    if (logPath === '') continue;
    try {
      const info = await lstat(logPath);
      // Anything else is not the runtime's log: there is nothing to rotate.
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
  // The names hold the time, so their order is that of age. With the one that is moved now, one
  // less is kept.
  for (const name of old.slice(0, Math.max(old.length - Math.max(input.maxFiles - 2, 0), 0)))
    await rm(join(directory, name), { force: true });
  const stamp = new Date(input.clock.now()).toISOString().slice(0, 19).replace(/[-:T]/g, '');
  const moved = `${path}.${stamp.slice(0, 8)}-${stamp.slice(8)}`;
  await rename(path, moved);
  try {
    await input.runtime.reopenContainerLog(id);
  } catch (error) {
    // The container still writes to the file that was moved: put it back, so that nothing is lost.
    await rename(moved, path);
    throw error;
  }
}
