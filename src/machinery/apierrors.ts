// The errors of the API. A StatusError carries the Status object that goes over the wire, so a
// client gets the same error whether it calls in-process or over HTTP. Meant for `import * as
// apierrors`.
//
// Codes, reasons and messages are those of upstream's apimachinery (pkg/api/errors).

import { errorMessage } from './error-message.ts';
import { joinMessages, type FieldError } from './validation/field.ts';
import { quote } from './text/go-format.ts';

/** The defined values of `Status.reason`. The reason '' (unknown) is left out of the JSON. */
export const STATUS_REASONS = [
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'StorageReadError',
  'Timeout',
  'TooManyRequests',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'InternalError',
  'Expired',
  'ServiceUnavailable',
] as const;

export type StatusReason = (typeof STATUS_REASONS)[number];

const KNOWN_REASONS: ReadonlySet<string> = new Set(STATUS_REASONS);

export interface StatusCause {
  /** A machine-readable reason, such as 'FieldValueInvalid' or 'ResourceVersionTooLarge'. */
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource ('pods'); for reason Invalid, the kind ('Pod'). */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/**
 * meta.k8s.io/v1 Status in its JSON form: empty fields are left out, `metadata` is always present.
 */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: {
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly resourceVersion?: string;
    readonly selfLink?: string;
  };
  readonly status?: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: StatusReason | (string & {});
  readonly details?: StatusDetails;
  /** The HTTP status code. */
  readonly code?: number;
}

/** A resource and its group. Every ResourceType is a GroupResource. The core group is ''. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** A kind and its group. Every GroupVersionKind is a GroupKind. */
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** An error that clients of the API receive. Its message is the message of the Status. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Status, options?: { readonly cause?: unknown }) {
    super(status.message ?? '', options);
    this.name = 'StatusError';
    this.status = status;
  }

  /** The HTTP status code; 0 if the Status has none. */
  get code(): number {
    return this.status.code ?? 0;
  }

  /** '' if unknown. */
  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** Returns the name of a resource as in messages: 'replicasets.apps', 'pods'. */
function groupResourceString(resource: GroupResource): string {
  return resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
}

/** Returns the name of a kind as in messages: 'ReplicaSet.apps', 'Pod'. */
function groupKindString(kind: GroupKind): string {
  return kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
}

/** Returns the error for a Status that was received. */
export function fromStatus(status: Status, options?: { readonly cause?: unknown }): StatusError {
  return new StatusError(status, options);
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

const RESOURCE_VERSION_TOO_LARGE = 'ResourceVersionTooLarge';
const UNEXPECTED_SERVER_RESPONSE = 'UnexpectedServerResponse';

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

const GENERIC_RESPONSES: ReadonlyMap<number, readonly [reason: StatusReason, message: string]> =
  new Map([
    [404, ['NotFound', 'the server could not find the requested resource']],
    [400, ['BadRequest', 'the server rejected our request for an unknown reason']],
    [401, ['Unauthorized', 'the server has asked for the client to provide credentials']],
    [405, ['MethodNotAllowed', 'the server does not allow this method on the requested resource']],
    [422, ['Invalid', 'the server rejected our request due to an error in our request']],
    [503, ['ServiceUnavailable', 'the server is currently unable to handle the request']],
    [
      504,
      [
        'Timeout',
        'the server was unable to return a response in the time allotted, but may still be processing the request',
      ],
    ],
    [
      429,
      [
        'TooManyRequests',
        'the server has received too many requests and has asked us to try again later',
      ],
    ],
  ]);

export interface GenericServerResponse {
  /** The HTTP status code. */
  readonly code: number;
  /** The HTTP method, such as 'GET'. */
  readonly verb: string;
  /** Default: none. */
  readonly resource?: GroupResource;
  readonly name?: string;
  /** The response's text. */
  readonly serverMessage: string;
  readonly retryAfterSeconds?: number;
  /** The body was not a Status. The sender may not be an API server. */
  readonly isUnexpectedResponse: boolean;
}

/** Returns the error for a failed response whose body is not a Status. */
export function genericServerResponse(response: GenericServerResponse): StatusError {
  const { code, serverMessage, name = '' } = response;
  const resource = response.resource ?? { group: '', resource: '' };
  let [reason, message] = genericReason(code, response.verb, serverMessage);
  if (resource.group !== '' || resource.resource !== '') {
    const where = [
      response.verb.toLowerCase(),
      groupResourceString(resource),
      ...(name === '' ? [] : [name]),
    ];
    message += ` (${where.join(' ')})`;
  }
  return failure(code, reason, message, {
    ...forResource(resource, name),
    ...(response.isUnexpectedResponse && {
      causes: [cause({ reason: UNEXPECTED_SERVER_RESPONSE, message: serverMessage })],
    }),
    ...retryAfter(response.retryAfterSeconds ?? 0),
  });
}

function genericReason(
  code: number,
  verb: string,
  said: string,
): [StatusReason | undefined, string] {
  const generic = GENERIC_RESPONSES.get(code);
  if (generic !== undefined) return [generic[0], generic[1]];
  switch (code) {
    case 409:
      return [verb === 'POST' ? 'AlreadyExists' : 'Conflict', 'the server reported a conflict'];
    // The server's own text names the user and the action, or lists the accepted types.
    case 403:
      return ['Forbidden', said];
    case 415:
      return ['UnsupportedMediaType', said];
    case 406: {
      const unsaid = said === '' || said === 'unknown';
      return [
        'NotAcceptable',
        unsaid
          ? 'the server was unable to respond with a content type that the client supports'
          : said,
      ];
    }
    default:
      if (code >= 500)
        return [
          'InternalError',
          `an error on the server (${quote(said)}) has prevented the request from succeeding`,
        ];
      return [
        undefined,
        `the server responded with the status code ${code} but did not return more information`,
      ];
  }
}

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

/** Returns the error itself, or the nearest StatusError among its causes. */
function findStatusError(error: unknown): StatusError | undefined {
  let current = error;
  // Bounded, since a chain of causes may be circular.
  for (let depth = 0; depth < 32; depth++) {
    if (current instanceof StatusError) return current;
    if (!(current instanceof Error)) return undefined;
    current = current.cause;
  }
  return undefined;
}

function failure(
  code: number,
  reason: StatusReason | undefined,
  message: string,
  details?: StatusDetails,
  why?: Error | string,
): StatusError {
  return new StatusError(
    makeStatus(code, reason, message, details),
    why instanceof Error ? { cause: why } : undefined,
  );
}

function makeStatus(
  code: number,
  reason: StatusReason | undefined,
  message: string,
  details?: StatusDetails,
): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    ...(message !== '' && { message }),
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && { details }),
    code,
  };
}

function forResource(resource: GroupResource, name: string): StatusDetails {
  return {
    ...(name !== '' && { name }),
    ...(resource.group !== '' && { group: resource.group }),
    ...(resource.resource !== '' && { kind: resource.resource }),
  };
}

function retryAfter(seconds: number): StatusDetails {
  return seconds === 0 ? {} : { retryAfterSeconds: seconds };
}

function cause(parts: StatusCause): StatusCause {
  return {
    ...(parts.reason && { reason: parts.reason }),
    ...(parts.message && { message: parts.message }),
  };
}

function textOf(why: Error | string): string {
  return typeof why === 'string' ? why : why.message;
}
