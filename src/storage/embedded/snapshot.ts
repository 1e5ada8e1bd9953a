// Saves and restores snapshots, for the `cox snapshot` command.

import { createWriteStream, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { EngineOptions } from '../mvcc/engine.ts';
import { StorageError } from '../interface.ts';
import { openEmbeddedEngine } from './index.ts';
import { DATABASE_FILE, LogDatabase } from './log-database.ts';
import { encodeSnapshot, readSnapshot, type SnapshotStatus } from './snapshot-file.ts';
import { fetchSnapshot } from './snapshot-socket.ts';

export type { SnapshotStatus } from './snapshot-file.ts';

/**
 * Writes a snapshot of the store in the directory to the file. The file appears only after all of
 * it was written, synced and read back. The store may be open, in this version or in another that
 * serves the same snapshot socket. Throws StorageError, and the errors of the file system.
 */
export async function saveSnapshot(
  config: Pick<EngineOptions, 'clock' | 'logger'> & {
    readonly dataDir: string;
    readonly file: string;
  },
): Promise<SnapshotStatus> {
  const { clock, dataDir, file } = config;
  if (!existsSync(join(dataDir, DATABASE_FILE)))
    throw new StorageError('Unavailable', `there is no store in ${dataDir}`);
  const part = `${file}.part`;
  try {
    const served = await fetchSnapshot(dataDir);
    const write = (bytes: Readable): Promise<void> =>
      pipeline(bytes, createWriteStream(part, { mode: 0o600 }));
    if (served !== undefined) await write(served);
    else {
      const engine = await openEmbeddedEngine(config);
      try {
        await write(
          Readable.from(encodeSnapshot(engine.snapshot(), clock.now()), { objectMode: false }),
        );
      } finally {
        await engine.close();
      }
    }
    await syncFile(part);
    const status = await snapshotStatus(part);
    await rename(part, file);
    await syncFile(dirname(file));
    return status;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/**
 * Reads and checks the whole snapshot. Throws StorageError Corrupt if it cannot be used, and the
 * errors of the file system.
 */
export async function snapshotStatus(file: string): Promise<SnapshotStatus> {
  return await withFile(file, (handle) => readSnapshot(handle, file));
}

/**
 * Restores the snapshot into a directory that must not exist yet. `bumpRevision`: the number of
 * revisions by which the store begins after the snapshot, so that no client has seen a revision
 * that the restored store assigns later. Throws the errors of snapshotStatus; no directory is left
 * then.
 */
export async function restoreSnapshot(config: {
  readonly file: string;
  readonly dataDir: string;
  readonly bumpRevision: number;
}): Promise<SnapshotStatus> {
  const { file, dataDir, bumpRevision } = config;
  const making = `${dataDir}.restoring`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true, mode: 0o700 });
  try {
    const database = await LogDatabase.open({ dataDir: making, maxBytes: undefined });
    let status: SnapshotStatus;
    try {
      const restoring = database.restore();
      try {
        status = await withFile(file, (handle) => readSnapshot(handle, file, restoring.add));
      } catch (error) {
        restoring.abandon();
        throw error;
      }
      restoring.finish(status.revision + bumpRevision);
    } finally {
      database.close();
    }
    await rename(making, dataDir);
    await syncFile(dirname(dataDir));
    return status;
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    throw error;
  }
}

async function withFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file, 'r');
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

/** Flushes the file to the disk. */
async function syncFile(path: string): Promise<void> {
  await withFile(path, (handle) => handle.sync());
}
