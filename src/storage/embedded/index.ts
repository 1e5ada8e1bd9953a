// The default engine: the in-memory core, with a durable log in SQLite that a worker thread writes.
// See README.md in src/storage.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { workerSource } from '#machinery/worker-source.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type Storage, StorageError } from '../interface.ts';
import { type EngineConfig, type EngineOptions, MvccEngine } from '../mvcc/engine.ts';
import { load, type LoadProgress } from './load.ts';
import { newTakenPieces } from './load-window.ts';
import { DATABASE_FILE } from './log-database.ts';
import type { WorkerConfig } from './protocol.ts';
import { encodeSnapshot } from './snapshot-file.ts';
import { serveSnapshots } from './snapshot-socket.ts';
import { WorkerLog } from './worker-log.ts';

export interface EmbeddedStorageConfig extends EngineOptions {
  /**
   * The directory of the store; nothing else may use it. Created with mode 0700 if it does not
   * exist.
   */
  readonly dataDir: string;
  /**
   * The maximum size of the database in bytes; larger writes fail with NoSpace. Default: the disk's
   * space.
   */
  readonly maxBytes?: number;
  /** Called while a large store is read. */
  readonly onProgress?: LoadProgress;
}

/**
 * Opens the store in the directory, or creates an empty one there. Throws StorageError: Unavailable
 * (another process has it open, or access is denied), Corrupt (damaged, not a store, or of a newer
 * version), NoSpace.
 */
export async function openEmbeddedStorage(config: EmbeddedStorageConfig): Promise<Storage> {
  return await openEmbeddedEngine(config);
}

/** Opens the store like openEmbeddedStorage, and returns the engine, which can take snapshots. */
export async function openEmbeddedEngine(config: EmbeddedStorageConfig): Promise<EmbeddedEngine> {
  const { dataDir, maxBytes, logger, clock } = config;
  const source = workerSource(
    new URL('./storage-worker.js', import.meta.url),
    new URL('./worker.ts', import.meta.url),
  );
  const taken = newTakenPieces();
  const workerData: WorkerConfig = { dataDir, maxBytes, taken };
  const worker = new Worker(source.url, {
    workerData,
    execArgv: source.execArgv,
    name: 'storage',
    // The thread keeps almost no objects, so it needs no large young generation.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const began = clock.monotonic();
  const { store, expirations, obsolete } = await load(worker, {
    dataDir,
    taken,
    onProgress: config.onProgress,
  });
  logger.debug('store: opened', {
    dataDir,
    revision: store.revision,
    compactedRevision: store.compactedRevision,
    ms: Math.round(clock.monotonic() - began),
  });
  const engine = new EmbeddedEngine(dataDir, {
    ...config,
    store,
    expirations,
    openLog: (sink) => {
      const log = new WorkerLog(worker, sink);
      if (obsolete.length > 0) {
        log.compact(store.compactedRevision, obsolete, 0).catch((error: unknown) => {
          logger.warn('store: deleting history failed, retrying at the next start', {
            dataDir,
            err: error,
          });
        });
      }
      return log;
    },
  });
  engine.serve({ dataDir, logger, encode: () => encodeSnapshot(engine.snapshot(), clock.now()) });
  return engine;
}

/** The engine, with its files and the socket that serves snapshots. */
export class EmbeddedEngine extends MvccEngine {
  readonly #dataDir: string;
  #stopServing: (() => void) | undefined;

  constructor(dataDir: string, config: EngineConfig) {
    super(config);
    this.#dataDir = dataDir;
  }

  /** Returns the size of the database and its write-ahead log, in bytes. */
  async sizeBytes(): Promise<number> {
    const sizes = await Promise.all(
      [DATABASE_FILE, `${DATABASE_FILE}-wal`].map((name) =>
        stat(join(this.#dataDir, name)).then(
          ({ size }) => size,
          (error: unknown) => {
            // The write-ahead log may not exist.
            if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
            throw new StorageError(
              'Unavailable',
              `the size of the database cannot be read: ${errorMessage(error)}`,
            );
          },
        ),
      ),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  serve(config: Parameters<typeof serveSnapshots>[0]): void {
    this.#stopServing = serveSnapshots(config);
  }

  override close(): Promise<void> {
    this.#stopServing?.();
    this.#stopServing = undefined;
    return super.close();
  }
}
