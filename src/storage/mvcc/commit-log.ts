// The interface between the engine and the log that makes its writes durable.

import type { KeyValue, Revision, StorageError } from '../interface.ts';

/**
 * A write that was checked against the head (the committed state plus every pending write), and is
 * not durable yet.
 */
export interface PendingWrite {
  readonly key: string;
  readonly revision: Revision;
  /** The new value. Absent: the key is deleted. */
  readonly kv: KeyValue | undefined;
  /** When the key expires, in wall-clock milliseconds since the epoch. Absent: never. */
  readonly expiresAt: number | undefined;
}

export interface CommitLog<W extends PendingWrite = PendingWrite> {
  /**
   * Queues the write. Revisions grow by one, and are committed in that order. The sink is called
   * later, never inside this call.
   */
  append(write: W): void;
  /**
   * Deletes the versions of these revisions, and stores that history before `compactedRevision` is
   * gone. `bytes`: of their values; 0 if they are few or unknown. An older version of a key must
   * come before a newer one, in this call or an earlier one. While there are writes, the rows may
   * wait until there are many. Resolves when done. Rejects with NoSpace (the next compaction
   * deletes them), or Unavailable.
   */
  compact(compactedRevision: Revision, obsolete: readonly Revision[], bytes: number): Promise<void>;
  /** Throws StorageError if a write could not be committed now. */
  probe(): Promise<void>;
  /** Commits all appended writes, then releases every resource. */
  close(): Promise<void>;
}

/** Receives the outcome of writes. Each write is in exactly one call. */
export interface CommitSink<W extends PendingWrite = PendingWrite> {
  /** Reports that these writes are durable. They are in order of revision. */
  committed(writes: readonly W[]): void;
  /**
   * Reports that these writes, which are all pending ones, were not made: nothing of them is on
   * disk. Later writes may succeed.
   */
  rolledBack(writes: readonly W[], error: StorageError): void;
  /**
   * Reports that the outcome of these writes, which are all pending ones, is unknown. Nothing more
   * will be committed.
   */
  failed(writes: readonly W[], error: StorageError): void;
}
