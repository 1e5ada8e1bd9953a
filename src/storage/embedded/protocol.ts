// The messages between the main thread and the worker that owns the database. One request is in
// flight at a time, so responses need no numbers.

import type { Revision, StorageErrorReason } from '../interface.ts';
import type { TakenPieces } from './load-window.ts';

export interface DatabaseConfig {
  readonly dataDir: string;
  /** The maximum size of the database in bytes, without its log. Absent: no limit. */
  readonly maxBytes: number | undefined;
}

/** The value of the worker's `workerData`. */
export interface WorkerConfig extends DatabaseConfig {
  readonly taken: TakenPieces;
}

export type Request =
  /** Commits these records in one transaction. */
  | { readonly type: 'commit'; readonly records: Uint8Array }
  /** Deletes the rows of these revisions and stores the compaction revision, in one transaction. */
  | {
      readonly type: 'compact';
      readonly compactedRevision: Revision;
      readonly obsolete: Float64Array;
    }
  /** Commits a harmless change, to find out whether commits work. */
  | { readonly type: 'probe' }
  /** Closes the database and ends the thread. */
  | { readonly type: 'close' };

/**
 * The outcome of a request. After a failure other than NoSpace the database must not be written any
 * more.
 */
export type Response =
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly reason: StorageErrorReason; readonly message: string };

/**
 * The messages that the worker sends before the first request: the rows in order of revision, in
 * pieces, then `loaded`; or the error of opening.
 */
export type LoadMessage =
  | { readonly type: 'opened'; readonly compactedRevision: Revision; readonly rows: number }
  | { readonly type: 'rows'; readonly records: Uint8Array }
  | { readonly type: 'loaded' }
  | { readonly type: 'refused'; readonly reason: StorageErrorReason; readonly message: string };
