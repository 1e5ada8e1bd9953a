// Whether a write that failed was done all the same.

import * as apierrors from '#machinery/apierrors.ts';

/**
 * Whether the API server has said no, so that nothing was done. Not if it broke or did not answer;
 * nor if it found a conflict, which is also what an earlier binding of a pod looks like, whose
 * answer was lost.
 */
export function certainlyRefused(cause: unknown): boolean {
  return (
    apierrors.isNotFound(cause) ||
    apierrors.isForbidden(cause) ||
    apierrors.isUnauthorized(cause) ||
    apierrors.isInvalid(cause) ||
    apierrors.isBadRequest(cause) ||
    apierrors.isTooManyRequests(cause)
  );
}
