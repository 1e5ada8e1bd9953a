import type { KeyValue, StorageError } from '../interface.ts';
import type { PendingWrite } from './commit-log.ts';

/** A pending write, and the callers that wait for it. */
export interface EngineWrite extends PendingWrite {
  /**
   * Resolves when the write is committed and visible; to `kv`, unless it was made together with
   * others (PatchedWrites). Rejects with the StorageError that describes the failure.
   */
  readonly done: Promise<KeyValue | undefined>;
  resolve(kv: KeyValue | undefined): void;
  reject(error: StorageError): void;
  /** No later write of the key is pending. */
  isLast: boolean;
}
