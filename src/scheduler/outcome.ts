// Decides whether a failed write certainly had no effect.

import * as apierrors from '#machinery/apierrors.ts';

/**
 * Reports whether the API server has certainly rejected the request. False for server errors and
 * missing responses, and for a conflict, which may come from an earlier binding of the pod whose
 * response was lost.
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
