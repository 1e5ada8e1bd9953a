// Classifies errors of etcd as the engine's errors: which of them mean that nothing was written,
// and which leave the outcome of a write open.

import { type ServiceError, status } from '@grpc/grpc-js';
import { StorageError } from '../interface.ts';

/** The way in which a call failed. */
export type FailureKind =
  /** The revision has been compacted. */
  | 'compacted'
  /** The revision is in the future. */
  | 'future'
  /** The lease does not exist any more: nothing was written. */
  | 'no-lease'
  /** There is no space: nothing was written. */
  | 'no-space'
  /** Rejected temporarily, before anything was done. */
  | 'busy'
  /** Rejected permanently; nothing was done. */
  | 'refused'
  /**
   * No response, or one that does not say whether the request was executed. It may have been, and
   * it may still be.
   */
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
    if (isTooLarge(error)) return 'refused';
    // The client's own size limit has this code, too. It rejects the response, not the request.
    return details.startsWith('etcdserver: too many requests')
      ? 'busy'
      : details.startsWith('etcdserver:')
        ? 'refused'
        : 'unknown';
  }
  return code !== undefined && REFUSALS.has(code) ? 'refused' : 'unknown';
}

/**
 * Reports whether etcd has rejected a request because of its size: its own limit
 * (`--max-request-bytes`, 1.5 MiB by default), or that of its gRPC server, which is a little higher.
 */
function isTooLarge(error: unknown): boolean {
  const { details = '' } = error as Partial<ServiceError>;
  return (
    details === 'etcdserver: request is too large' ||
    details.startsWith('grpc: received message larger than max')
  );
}

/** Returns the message of etcd or of the connection. */
export function detailsOf(error: unknown): string {
  const { details, message } = error as Partial<ServiceError>;
  return details !== undefined && details !== '' ? details : (message ?? String(error));
}

/** Returns the StorageError for a failed read, or for a write that certainly was not made. */
export function storageErrorOf(error: unknown, key?: string): StorageError {
  if (error instanceof StorageError) return error;
  const reason = isTooLarge(error)
    ? 'TooLarge'
    : failureKind(error) === 'no-space'
      ? 'NoSpace'
      : 'Unavailable';
  return new StorageError(reason, `etcd: ${detailsOf(error)}`, {
    cause: error,
    ...(key !== undefined && { key }),
  });
}
