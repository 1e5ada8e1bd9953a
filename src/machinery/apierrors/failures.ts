// The errors that servers respond with.

import { quote } from '../text/go-format.ts';
import { type FieldError, joinMessages } from '../validation/field.ts';
import { genericServerResponse } from './generic-response.ts';
import {
  cause,
  failure,
  forResource,
  RESOURCE_VERSION_TOO_LARGE,
  retryAfter,
  textOf,
} from './make.ts';
import {
  type GroupKind,
  groupKindString,
  type GroupResource,
  groupResourceString,
  type StatusCause,
  type StatusDetails,
  type StatusError,
} from './status.ts';

/** Returns a 404 with reason NotFound. */
export function notFound(resource: GroupResource, name: string): StatusError {
  return failure(
    404,
    'NotFound',
    `${groupResourceString(resource)} ${quote(name)} not found`,
    forResource(resource, name),
  );
}

/** Returns a 409 with reason AlreadyExists. */
export function alreadyExists(resource: GroupResource, name: string): StatusError {
  const message = `${groupResourceString(resource)} ${quote(name)} already exists`;
  return failure(409, 'AlreadyExists', message, forResource(resource, name));
}

/** Returns a 409 for a generated name that is taken. The client may try again. */
export function generateNameConflict(
  resource: GroupResource,
  name: string,
  retryAfterSeconds: number,
): StatusError {
  const message =
    `${groupResourceString(resource)} ${quote(name)} already exists, ` +
    'the server was not able to generate a unique name for the object';
  return failure(409, 'AlreadyExists', message, {
    ...forResource(resource, name),
    ...retryAfter(retryAfterSeconds),
  });
}

/** Returns a 401 with reason Unauthorized. */
export function unauthorized(reason = ''): StatusError {
  return failure(401, 'Unauthorized', reason === '' ? 'not authorized' : reason);
}

/** Returns a 403. The message leaves out an empty resource (both parts '') and an empty name. */
export function forbidden(resource: GroupResource, name: string, why: Error | string): StatusError {
  const what = groupResourceString(resource);
  let message: string;
  if (resource.group === '' && resource.resource === '') message = `forbidden: ${textOf(why)}`;
  else if (name === '') message = `${what} is forbidden: ${textOf(why)}`;
  else message = `${what} ${quote(name)} is forbidden: ${textOf(why)}`;
  return failure(403, 'Forbidden', message, forResource(resource, name), why);
}

/**
 * Returns a 409 for a write that does not fit the stored object: stale version, or failed
 * precondition.
 */
export function conflict(resource: GroupResource, name: string, why: Error | string): StatusError {
  const message = `Operation cannot be fulfilled on ${groupResourceString(resource)} ${quote(name)}: ${textOf(why)}`;
  return failure(409, 'Conflict', message, forResource(resource, name), why);
}

/** The message of a Conflict caused by a stale resourceVersion. */
export const OPTIMISTIC_LOCK_MESSAGE =
  'the object has been modified; please apply your changes to the latest version and try again';

/** Returns a 409 for a server-side apply that conflicts with fields of other managers. */
export function applyConflict(causes: readonly StatusCause[], message: string): StatusError {
  return failure(409, 'Conflict', message, { causes });
}

/** Returns a 410 with reason Gone. Upstream prefers `resourceExpired` today. */
export function gone(message: string): StatusError {
  return failure(410, 'Gone', message);
}

/** Returns a 410 with reason Expired: the resourceVersion or continue token is too old. */
export function resourceExpired(message: string): StatusError {
  return failure(410, 'Expired', message);
}

/**
 * The longest text of all field errors together, in characters. A single error may quote megabytes.
 */
const MAX_ERRORS_LENGTH = 512 * 1024;

/**
 * Returns a 422 with a cause for each field error: `ReplicaSet.apps "x" is invalid: [a, b]`. Errors
 * beyond MAX_ERRORS_LENGTH are left out of the message, but at least one is shown.
 */
export function invalid(kind: GroupKind, name: string, errors: readonly FieldError[]): StatusError {
  const what = `${groupKindString(kind)} ${quote(name)} is invalid`;
  const causes: StatusCause[] = [];
  const messages = new Set<string>();
  let length = 0;
  for (const { type, body, field } of errors) {
    length += body.length + field.length;
    if (length > MAX_ERRORS_LENGTH && causes.length > 0) break;
    causes.push({ reason: type, message: body, field });
    messages.add(`${field}: ${body}`);
  }
  const details: StatusDetails = {
    ...forResource({ group: kind.group, resource: kind.kind }, name),
    ...(causes.length > 0 && { causes }),
  };
  return failure(
    422,
    'Invalid',
    causes.length === 0 ? what : `${what}: ${joinMessages(messages)}`,
    details,
  );
}

/** Returns a 400 with reason BadRequest. */
export function badRequest(reason: string): StatusError {
  return failure(400, 'BadRequest', reason);
}

/** Returns a 429 with the given message. */
export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return failure(429, 'TooManyRequests', message, retryAfter(retryAfterSeconds));
}

/** Returns a 429 whose message begins with 'Too many requests: '. */
export function tooManyRequestsError(message: string): StatusError {
  return failure(429, 'TooManyRequests', `Too many requests: ${message}`);
}

/** Returns a 503 with reason ServiceUnavailable. */
export function serviceUnavailable(reason: string): StatusError {
  return failure(503, 'ServiceUnavailable', reason);
}

/** Returns a 405 for a resource that is served without this verb. */
export function methodNotSupported(resource: GroupResource, action: string): StatusError {
  const message = `${action} is not supported on resources of kind ${quote(groupResourceString(resource))}`;
  return failure(405, 'MethodNotAllowed', message, forResource(resource, ''));
}

/** Returns a 404, 405 or 422 for a request with an unknown resource. */
export function genericStatus(code: 404 | 405 | 422): StatusError {
  return genericServerResponse({ code, verb: '', serverMessage: '', isUnexpectedResponse: false });
}

/** Returns a 500 that the client may retry. */
export function serverTimeout(
  resource: GroupResource,
  operation: string,
  retryAfterSeconds: number,
): StatusError {
  const message =
    `The ${operation} operation against ${groupResourceString(resource)} ` +
    'could not be completed at this time, please try again.';
  return failure(500, 'ServerTimeout', message, {
    ...forResource(resource, operation),
    ...retryAfter(retryAfterSeconds),
  });
}

/** Returns a 500 with reason InternalError. */
export function internalError(error: Error | string): StatusError {
  const text = textOf(error);
  return failure(
    500,
    'InternalError',
    `Internal error occurred: ${text}`,
    { causes: [cause({ message: text })] },
    error,
  );
}

/** Returns a 504: the operation timed out and may still complete. */
export function timeoutError(message: string, retryAfterSeconds = 0): StatusError {
  return failure(504, 'Timeout', `Timeout: ${message}`, retryAfter(retryAfterSeconds));
}

/** Returns a 413 with reason RequestEntityTooLarge. */
export function requestEntityTooLarge(message: string): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`);
}

/** Returns a 406. `accepted`: the media types that the server can send. */
export function notAcceptable(accepted: readonly string[]): StatusError {
  return failure(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${accepted.join(', ')}`,
  );
}

/**
 * Returns a 406 for a request that accepts none of the path's media types, which are listed in
 * `available`.
 */
export function noRepresentation(available: readonly string[]): StatusError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`;
  return failure(406, 'NotAcceptable', message, {});
}

/** Returns a 406 for a representation, such as Table, that the response cannot have. */
export function notAcceptableForm(message: string): StatusError {
  return failure(406, 'NotAcceptable', message);
}

/** Returns a 415 for a method with its own list of body types. */
export function unsupportedBody(): StatusError {
  return failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

/** Returns a 415. `accepted`: the media types that the server can read. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message =
    'the body of the request was in an unknown format - accepted media types include: ' +
    accepted.join(', ');
  return failure(415, 'UnsupportedMediaType', message);
}

/** Returns a 504 for a resourceVersion that the server has not reached yet. */
export function tooLargeResourceVersion(
  minimum: number | string,
  current: number | string,
  retryAfterSeconds: number,
): StatusError {
  const message = `Timeout: Too large resource version: ${minimum}, current: ${current}`;
  const causes = [{ reason: RESOURCE_VERSION_TOO_LARGE, message: 'Too large resource version' }];
  return failure(504, 'Timeout', message, { causes, ...retryAfter(retryAfterSeconds) });
}
