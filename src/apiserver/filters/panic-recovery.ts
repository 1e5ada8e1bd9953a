// The outermost filter: turns errors into responses. A StatusError has its own response. Any other
// error is a bug of this program: it is logged with its stack, and the response is a 500 without
// details.

import * as apierrors from '#machinery/apierrors.ts';
import type { Logger } from '#machinery/log.ts';
import { negotiateStatus } from '../endpoints/negotiation.ts';
import { FreshObject } from '../registry/encoded-object.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';
import { NOSNIFF } from '#machinery/serving/health.ts';
import { DeniedError } from './authorization.ts';

export function panicRecovery(logger: Logger): Filter {
  const errorResponse = (request: ApiRequest, error: unknown): ApiResponse => {
    if (!(error instanceof apierrors.StatusError)) {
      logger.error('a request failed unexpectedly', {
        method: request.method,
        path: request.path,
        err: error,
      });
      const status = apierrors.internalError(
        'the request failed unexpectedly; the log of the API server says why',
      );
      return statusResponse(request, status.status);
    }
    if (error.code >= 500)
      logger.debug('a request failed', { method: request.method, path: request.path, err: error });
    const response = statusResponse(request, error.status);
    return error instanceof DeniedError
      ? { ...response, headers: { ...response.headers, ...NOSNIFF } }
      : response;
  };
  return (next) => (request) =>
    next(request).catch((error: unknown) => errorResponse(request, error));
}

/** Returns the response for an error, in the form that the client accepts. */
function statusResponse(request: ApiRequest, status: apierrors.Status): ApiResponse {
  const seconds = status.details?.retryAfterSeconds ?? 0;
  return {
    // A webhook or another server may have chosen it.
    code: apierrors.isErrorCode(status.code) ? status.code : 500,
    body: { kind: 'object', object: new FreshObject(status) },
    format: negotiateStatus(request),
    ...(seconds > 0 && { headers: { 'retry-after': String(seconds) } }),
  };
}
