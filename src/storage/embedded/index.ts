// The default engine: the in-memory core, with a durable log in SQLite that a worker thread writes. See README.md in src/storage.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { workerSource } from '#machinery/worker-source.ts';
import { StorageError } from '../interface.ts';
import type { Storage } from '../interface.ts';
import type { EngineConfig, EngineOptions } from '../mvcc/engine.ts';
import { MvccEngine } from '../mvcc/engine.ts';
import { load } from './load.ts';
import { DATABASE_FILE } from './log-database.ts';
import type { WorkerConfig } from './protocol.ts';
import { encodeSnapshot } from './snapshot-file.ts';
import { serveSnapshots } from './snapshot-socket.ts';
import { WorkerLog } from './worker-log.ts';

export interface EmbeddedStorageConfig extends EngineOptions {
  /** The directory of the store, for nothing else; created (mode 0700) if it does not exist. */
  readonly dataDir: string;
  /** The database refuses to grow beyond this many bytes, with NoSpace. Default: no limit but the disk's. */
  readonly maxBytes?: number;
}

/**
 * Opens the store in the directory, or makes an empty one there. Throws StorageError: Unavailable (somebody has it open, or no
 * access), Corrupt (damaged, of another program, or of a newer version), NoSpace.
 */
export async function openEmbeddedStorage(config: EmbeddedStorageConfig): Promise<Storage> {
  return await openEmbeddedEngine(config);
}

/** As openEmbeddedStorage, for what takes snapshots itself. */
export async function openEmbeddedEngine(config: EmbeddedStorageConfig): Promise<MvccEngine> {
  const { dataDir, maxBytes, logger, clock } = config;
  const source = workerSource(
    new URL('./storage-worker.js', import.meta.url),
    new URL('./worker.ts', import.meta.url),
  );
  const workerData: WorkerConfig = { dataDir, maxBytes };
  const worker = new Worker(source.url, {
    workerData,
    execArgv: source.execArgv,
    name: 'storage',
    // The thread keeps next to nothing; its young generation need not grow as the main thread's does.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const began = clock.monotonic();
  const { store, expirations, obsolete } = await load(worker, dataDir);
  logger.debug('store opened', {
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
        log.compact(store.compactedRevision, obsolete).catch((error: unknown) => {
          logger.warn('history could not be deleted, it stays until the next start', {
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
class EmbeddedEngine extends MvccEngine {
  readonly #dataDir: string;
  #stopServing: (() => void) | undefined;

  constructor(dataDir: string, config: EngineConfig) {
    super(config);
    this.#dataDir = dataDir;
  }

  /** The size of the database and its write-ahead log. */
  async sizeBytes(): Promise<number> {
    const sizes = await Promise.all(
      [DATABASE_FILE, `${DATABASE_FILE}-wal`].map((name) =>
        stat(join(this.#dataDir, name)).then(
          ({ size }) => size,
          (error: unknown) => {
            // The log is not always there.
            if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
            throw new StorageError(
              'Unavailable',
              `the size of the database cannot be read: ${(error as Error).message}`,
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
