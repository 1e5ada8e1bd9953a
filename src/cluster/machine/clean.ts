// The work of `cox down --clean` once the cluster has stopped: the kernel of this machine has nothing of it any more,
// nor of clusters that were killed. The data directory stays: the next start makes all of it again.

import type { Clock } from '#machinery/clock.ts';
import {
  checkStoreUnused,
  claimDataDir,
  type DataDirLayout,
  entriesOf,
} from '../data-dir/data-dir.ts';
import { removeKernelState, removeLeftStale } from './kernel-state.ts';
import { endContainers, pathsOf, unmountBelow } from './reset.ts';
import { UserError } from '../user-error.ts';

/**
 * Ends the pods of the cluster, and removes what it, and clusters without a process, have in the kernel. Needs Linux
 * and root. Idempotent. Returns what was removed, for people. Rejects with UserError.
 */
export async function cleanMachine(
  layout: DataDirLayout,
  clock: Clock,
): Promise<readonly string[]> {
  const removed: string[] = [];
  try {
    // A directory that is not there has no cluster, but rules of one that was there may be left.
    const release = entriesOf(layout).length === 0 ? undefined : await claimDataDir(layout);
    try {
      if (release !== undefined) await checkStoreUnused(layout);
      const { processes, namespaces } = await endContainers(layout.root, clock);
      if (processes > 0) removed.push(`${processes} processes of pods`);
      removed.push(...(await removeKernelState(pathsOf(layout.root), namespaces)));
      const mounts = await unmountBelow(layout.root);
      if (mounts > 0) removed.push(`${mounts} mounts of pods`);
    } finally {
      release?.();
    }
    removed.push(...(await removeLeftStale()));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `not everything could be removed: ${(error as Error).message}. Try again.`,
      {
        cause: error,
      },
    );
  }
  return removed;
}
