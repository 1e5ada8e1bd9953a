// Starts the embedded engine: builds the in-memory state from the rows that the worker reads.

import { errorMessage } from '#machinery/error-message.ts';
import type { Worker } from 'node:worker_threads';
import { type Revision, StorageError } from '../interface.ts';
import type { Expiration } from '../mvcc/expiry.ts';
import { SimilarValues } from '../packing/index.ts';
import { MvccStore } from '../mvcc/store.ts';
import { corrupt } from './corrupt.ts';
import { pieceTaken, type TakenPieces } from './load-window.ts';
import type { LoadMessage } from './protocol.ts';
import { readWrites } from './record.ts';

/** The content of the disk. */
export interface Loaded {
  readonly store: MvccStore;
  readonly expirations: readonly Expiration[];
  /**
   * The revisions of rows that a compaction had not deleted when the process ended, in the order in
   * which they must be deleted.
   */
  readonly obsolete: readonly Revision[];
}

/** Called while a large store is read, with the number of rows so far and of all rows. */
export type LoadProgress = (rows: number, total: number) => void;

/** Progress is reported each time so many rows were read. */
const REPORTED_ROWS = 10_000;

export interface LoadConfig {
  readonly dataDir: string;
  readonly taken: TakenPieces;
  readonly onProgress: LoadProgress | undefined;
}

/**
 * Receives the worker's messages until it has sent every row. Rejects with a StorageError when
 * loading fails; by then the thread has ended and released the lock.
 */
export function load(worker: Worker, config: LoadConfig): Promise<Loaded> {
  const { dataDir, taken, onProgress } = config;
  return new Promise((resolve, reject) => {
    let rows = new Rows(1);
    let total = 0;
    let reported = 0;
    let refusal: StorageError | undefined;
    const cannotOpen = (problem: string, cause?: unknown): StorageError =>
      new StorageError('Unavailable', `the store in ${dataDir} cannot be opened: ${problem}`, {
        cause,
      });
    const onMessage = (message: LoadMessage): void => {
      if (refusal !== undefined) return;
      switch (message.type) {
        case 'opened':
          rows = new Rows(message.compactedRevision);
          total = message.rows;
          return;
        case 'rows':
          try {
            rows.take(message.records);
            pieceTaken(taken);
            if (rows.count - reported < REPORTED_ROWS) return;
            reported = rows.count;
            onProgress?.(reported, total);
          } catch (error) {
            // Each row is intact, but the rows contradict each other.
            refusal = corrupt(dataDir, errorMessage(error));
            void worker.terminate();
          }
          return;
        case 'loaded':
          worker.off('message', onMessage).off('error', onError).off('exit', onExit);
          resolve(rows.loaded());
          return;
        case 'refused':
          refusal = new StorageError(message.reason, message.message);
          return;
      }
    };
    const onError = (error: unknown): void => {
      refusal ??= cannotOpen(errorMessage(error), error);
    };
    const onExit = (code: number): void =>
      reject(refusal ?? cannotOpen(`its thread ended with code ${code}`));
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}

/** Collects rows in order of revision into a store. */
class Rows {
  /** The number of rows so far. */
  count = 0;
  readonly #store: MvccStore;
  readonly #expirations = new Map<string, Expiration>();
  readonly #obsolete: Revision[] = [];

  constructor(compactedRevision: Revision) {
    this.#store = new MvccStore(compactedRevision, new SimilarValues());
  }

  take(records: Uint8Array): void {
    for (const { key, revision, kv, expiresAt } of readWrites(records)) {
      this.count++;
      if (revision > this.#store.compactedRevision)
        this.#store.apply(key, kv && this.#store.hold(kv));
      else this.#obsolete.push(...this.#store.restore(key, revision, kv));
      if (expiresAt === undefined) this.#expirations.delete(key);
      else this.#expirations.set(key, { key, modRevision: revision, deadline: expiresAt });
    }
  }

  loaded(): Loaded {
    return {
      store: this.#store,
      expirations: [...this.#expirations.values()],
      obsolete: this.#obsolete,
    };
  }
}
