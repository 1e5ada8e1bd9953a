// The messages between the main thread and the worker that owns the database. One request at a time: the next one is sent
// when the one before is answered, so answers need no numbers.

import type { Revision, StorageErrorReason } from '../interface.ts';

/** The worker's `workerData`. */
export interface WorkerConfig {
  readonly dataDir: string;
  /** The database refuses to grow beyond this many bytes (its log not counted); absent: no limit. */
  readonly maxBytes: number | undefined;
}

export type Request =
  /** Commit these records in one transaction. */
  | { readonly type: 'commit'; readonly records: Uint8Array }
  /** Delete the rows of these revisions, and remember the compaction revision, in one transaction. */
  | {
      readonly type: 'compact';
      readonly compactedRevision: Revision;
      readonly obsolete: Float64Array;
    }
  /** Commit something harmless. */
  | { readonly type: 'probe' }
  /** Close the database and end. */
  | { readonly type: 'close' };

/** How a request went. After any failure but NoSpace the database must not be written any more. */
export type Response =
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly reason: StorageErrorReason; readonly message: string };

/** Sent by the worker before the first request: the rows in order of revision, in pieces, then `loaded`; or the error of opening. */
export type LoadMessage =
  | { readonly type: 'opened'; readonly compactedRevision: Revision }
  | { readonly type: 'rows'; readonly records: Uint8Array }
  | { readonly type: 'loaded' }
  | { readonly type: 'refused'; readonly reason: StorageErrorReason; readonly message: string };
