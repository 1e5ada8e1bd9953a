// Which errors of a driver mean that an operation has ended.

import { isRpcError } from '#machinery/grpc/rpc-error.ts';

/**
 * Reports whether the operation has certainly ended: after any other error the driver may still be
 * working on it, so its effects must be undone as if it had succeeded.
 */
export function isFinalError(error: unknown): boolean {
  if (!isRpcError(error)) return false;
  return !isRpcError(
    error,
    'CANCELLED',
    'DEADLINE_EXCEEDED',
    'UNAVAILABLE',
    'RESOURCE_EXHAUSTED',
    'ABORTED',
  );
}
