// The interface between the engine and the log that makes its writes durable.

import type { KeyValue, Revision } from '../interface.ts';
import type { StorageError } from '../interface.ts';

/** A write that was decided against the head (the committed state and every pending write), and waits to be durable. */
export interface PendingWrite {
  readonly key: string;
  readonly revision: Revision;
  /** The new value; absent: the key is deleted. */
  readonly kv: KeyValue | undefined;
  /** When the key goes by itself: wall-clock milliseconds since the epoch. Absent: never. */
  readonly expiresAt: number | undefined;
}

export interface CommitLog<W extends PendingWrite = PendingWrite> {
  /** Queues the write. Revisions grow by one, and are committed in that order. The sink is called later, never inside this call. */
  append(write: W): void;
  /**
   * Deletes the versions of these revisions, in this order, and remembers that history before `compactedRevision` is gone.
   * Resolves when done. Rejects with NoSpace (it stays to be done, with the next compaction), or Unavailable.
   */
  compact(compactedRevision: Revision, obsolete: readonly Revision[]): Promise<void>;
  /** Throws StorageError if a write could not be committed now. */
  probe(): Promise<void>;
  /** Commits what was appended, then releases everything. */
  close(): Promise<void>;
}

/** How the engine hears of the outcome. Each write is in exactly one call. */
export interface CommitSink<W extends PendingWrite = PendingWrite> {
  /** These writes are durable. In order of revision. */
  committed(writes: readonly W[]): void;
  /** These writes, which are all that are pending, were not made: nothing of them is on disk. Later writes may work. */
  rolledBack(writes: readonly W[], error: StorageError): void;
  /** It is not known whether these writes, which are all that are pending, were made. Nothing will be committed any more. */
  failed(writes: readonly W[], error: StorageError): void;
}
