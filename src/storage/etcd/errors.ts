// What etcd answers when it does not do what it was asked, as the engine's errors: which of them say that nothing happened, and
// which leave it open whether a write was made.

import { status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { StorageError } from '../interface.ts';

/** How a call ended that was not answered as wished. */
export type FailureKind =
  /** The revision has been compacted. */
  | 'compacted'
  /** The revision is still to come. */
  | 'future'
  /** The lease is gone: nothing was written. */
  | 'no-lease'
  /** There is no space: nothing was written. */
  | 'no-space'
  /** Refused before anything was done, for now. */
  | 'busy'
  /** Refused for good: nothing was done. */
  | 'refused'
  /** No answer, or one that does not say whether the request was carried out: maybe it was, maybe it still will be. */
  | 'unknown';

const REFUSALS: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
  status.RESOURCE_EXHAUSTED,
]);

export function failureKind(error: unknown): FailureKind {
  const { code, details = '' } = error as Partial<ServiceError>;
  if (code === status.OUT_OF_RANGE) return details.includes('compacted') ? 'compacted' : 'future';
  if (code === status.NOT_FOUND && details.includes('lease')) return 'no-lease';
  if (code === status.RESOURCE_EXHAUSTED) {
    if (details.includes('space')) return 'no-space';
    // The client's own limits have this code, too; then the answer was thrown away, not the request.
    return details.startsWith('etcdserver: too many requests')
      ? 'busy'
      : details.startsWith('etcdserver:')
        ? 'refused'
        : 'unknown';
  }
  return code !== undefined && REFUSALS.has(code) ? 'refused' : 'unknown';
}

/** The message of etcd or of the connection. */
export function detailsOf(error: unknown): string {
  const { details, message } = error as Partial<ServiceError>;
  return details !== undefined && details !== '' ? details : (message ?? String(error));
}

/** For a write that was certainly not made, or a read. */
export function storageErrorOf(error: unknown, key?: string): StorageError {
  if (error instanceof StorageError) return error;
  const reason = failureKind(error) === 'no-space' ? 'NoSpace' : 'Unavailable';
  return new StorageError(reason, `etcd: ${detailsOf(error)}`, {
    cause: error,
    ...(key !== undefined && { key }),
  });
}
