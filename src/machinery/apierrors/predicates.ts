// Predicates of errors. An error counts as what one of its causes is.

import { errorMessage } from '../error-message.ts';
import { makeStatus, RESOURCE_VERSION_TOO_LARGE, UNEXPECTED_SERVER_RESPONSE } from './make.ts';
import {
  findStatusError,
  type Status,
  STATUS_REASONS,
  type StatusCause,
  type StatusReason,
} from './status.ts';

const KNOWN_REASONS: ReadonlySet<string> = new Set(STATUS_REASONS);

/**
 * Returns the reason of a StatusError, or of the first one among the error's causes; '' if there is
 * none.
 */
export function reasonForError(error: unknown): string {
  return findStatusError(error)?.reason ?? '';
}

export function isNotFound(error: unknown): boolean {
  return is(error, 'NotFound', 404);
}

/** Resolves with undefined if what is read, or written, does not exist. */
export async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function isAlreadyExists(error: unknown): boolean {
  return reasonForError(error) === 'AlreadyExists';
}

/** Waits for a creation. Resolves, too, if the object exists already. */
export async function unlessExists(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

export function isConflict(error: unknown): boolean {
  return is(error, 'Conflict', 409);
}

export function isInvalid(error: unknown): boolean {
  return is(error, 'Invalid', 422);
}

export function isGone(error: unknown): boolean {
  return is(error, 'Gone', 410);
}

export function isResourceExpired(error: unknown): boolean {
  return reasonForError(error) === 'Expired';
}

export function isNotAcceptable(error: unknown): boolean {
  return is(error, 'NotAcceptable', 406);
}

export function isUnsupportedMediaType(error: unknown): boolean {
  return is(error, 'UnsupportedMediaType', 415);
}

export function isMethodNotSupported(error: unknown): boolean {
  return is(error, 'MethodNotAllowed', 405);
}

export function isServiceUnavailable(error: unknown): boolean {
  return is(error, 'ServiceUnavailable', 503);
}

export function isBadRequest(error: unknown): boolean {
  return is(error, 'BadRequest', 400);
}

export function isUnauthorized(error: unknown): boolean {
  return is(error, 'Unauthorized', 401);
}

export function isForbidden(error: unknown): boolean {
  return is(error, 'Forbidden', 403);
}

export function isTimeout(error: unknown): boolean {
  return is(error, 'Timeout', 504);
}

export function isServerTimeout(error: unknown): boolean {
  return reasonForError(error) === 'ServerTimeout';
}

export function isInternalError(error: unknown): boolean {
  return is(error, 'InternalError', 500);
}

/** Reports whether the reason or the code says so; one of them suffices. */
export function isTooManyRequests(error: unknown): boolean {
  const statusError = findStatusError(error);
  return (
    statusError !== undefined &&
    (statusError.reason === 'TooManyRequests' || statusError.code === 429)
  );
}

/** Reports whether the reason or the code says so; one of them suffices. */
export function isRequestEntityTooLarge(error: unknown): boolean {
  const statusError = findStatusError(error);
  return (
    statusError !== undefined &&
    (statusError.reason === 'RequestEntityTooLarge' || statusError.code === 413)
  );
}

export function isTooLargeResourceVersion(error: unknown): boolean {
  return isTimeout(error) && statusCause(error, RESOURCE_VERSION_TOO_LARGE) !== undefined;
}

/** Reports whether the response was not in the API's form. Another server may have sent it. */
export function isUnexpectedServerError(error: unknown): boolean {
  return statusCause(error, UNEXPECTED_SERVER_RESPONSE) !== undefined;
}

/** Returns the first cause with this reason. */
export function statusCause(error: unknown, reason: string): StatusCause | undefined {
  return findStatusError(error)?.status.details?.causes?.find(
    (candidate) => candidate.reason === reason,
  );
}

/** Returns the seconds that the server asks the client to wait; undefined if it does not ask. */
export function suggestsClientDelay(error: unknown): number | undefined {
  const statusError = findStatusError(error);
  const details = statusError?.status.details;
  if (statusError === undefined || details === undefined) return undefined;
  const seconds = details.retryAfterSeconds ?? 0;
  return statusError.reason === 'ServerTimeout' || seconds > 0 ? seconds : undefined;
}

/**
 * Reports whether the error has the reason. The code counts only for reasons outside
 * STATUS_REASONS.
 */
function is(error: unknown, reason: StatusReason, code: number): boolean {
  const statusError = findStatusError(error);
  if (statusError === undefined) return false;
  return (
    statusError.reason === reason ||
    (statusError.code === code && !KNOWN_REASONS.has(statusError.reason))
  );
}

/**
 * Returns the Status to send for a thrown value: the Status of a StatusError, else a 500 without a
 * reason.
 */
export function toStatus(error: unknown): Status {
  const statusError = findStatusError(error);
  if (statusError !== undefined) return statusError.status;
  return makeStatus(500, undefined, errorMessage(error));
}
