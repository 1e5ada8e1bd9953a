// Snapshots of a cluster's embedded store: which directories and files they are about, and what may
// be done to them when.

import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { renameDurably } from '#machinery/files/durable-file.ts';
import { silentLogger } from '#machinery/log.ts';
import type { SnapshotStatus } from '#storage/embedded/snapshot.ts';
import { StorageError } from '#storage/interface.ts';
import { claimDataDir, dataDirLayout } from '../data-dir/data-dir.ts';
import { UserError } from '../user-error.ts';

export type { SnapshotStatus } from '#storage/embedded/snapshot.ts';

/** Saves a snapshot of a cluster, whether it runs or not. Throws UserError. */
export async function saveClusterSnapshot(options: {
  readonly dataDir: string;
  readonly file: string;
}): Promise<SnapshotStatus> {
  const { saveSnapshot } = await import('#storage/embedded/snapshot.ts');
  const dataDir = dataDirLayout(options.dataDir).store;
  return await asUserErrors(() =>
    saveSnapshot({
      clock: systemClock,
      logger: silentLogger,
      dataDir,
      file: resolve(options.file),
    }),
  );
}

/** Throws UserError if the snapshot cannot be used. */
export async function clusterSnapshotStatus(file: string): Promise<SnapshotStatus> {
  const { snapshotStatus } = await import('#storage/embedded/snapshot.ts');
  return await asUserErrors(() => snapshotStatus(resolve(file)));
}

/**
 * Restores a snapshot. The cluster must not run. Its present store is moved aside; returns the new
 * path of that store. Throws UserError.
 */
export async function restoreClusterSnapshot(options: {
  readonly dataDir: string;
  readonly file: string;
  readonly bumpRevision: number;
}): Promise<{
  readonly status: SnapshotStatus;
  readonly store: string;
  readonly movedTo: string | undefined;
}> {
  const { restoreSnapshot } = await import('#storage/embedded/snapshot.ts');
  const layout = dataDirLayout(options.dataDir);
  const release = await claimDataDir(layout);
  try {
    return await asUserErrors(async () => {
      // The whole snapshot becomes a store before anything is touched. One that was left behind was
      // never put in its place.
      const made = restoredBeside(layout.store);
      if (existsSync(layout.store)) rmSync(made, { recursive: true, force: true });
      else finishRestore(layout.store);
      const status = await restoreSnapshot({
        file: resolve(options.file),
        dataDir: made,
        bumpRevision: options.bumpRevision,
      });
      let movedTo: string | undefined;
      if (existsSync(layout.store)) {
        let number = 1;
        while (existsSync(`${layout.store}.before-restore-${number}`)) number++;
        movedTo = `${layout.store}.before-restore-${number}`;
        renameDurably(layout.store, movedTo);
      }
      finishRestore(layout.store);
      return { status, store: layout.store, movedTo };
    });
  } finally {
    release();
  }
}

/**
 * Puts a restored store in its place if there is none: the last step of a restoration, which a
 * crash may have left undone. Without it the next start would begin with an empty store.
 */
export function finishRestore(store: string): void {
  if (!existsSync(store) && existsSync(restoredBeside(store)))
    renameDurably(restoredBeside(store), store);
}

/** Only a store that is whole is ever called that. */
function restoredBeside(store: string): string {
  return `${store}.restored`;
}

async function asUserErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StorageError) throw new UserError(error.message, { cause: error });
    if (error instanceof Error && 'code' in error && 'path' in error)
      throw new UserError(error.message, { cause: error });
    throw error;
  }
}
