// The parts from which errors are made.

import {
  type GroupResource,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  type StatusReason,
} from './status.ts';

/** The reasons of causes by which predicates recognize errors. */
export const RESOURCE_VERSION_TOO_LARGE = 'ResourceVersionTooLarge';
export const UNEXPECTED_SERVER_RESPONSE = 'UnexpectedServerResponse';

export function failure(
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

export function makeStatus(
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

export function forResource(resource: GroupResource, name: string): StatusDetails {
  return {
    ...(name !== '' && { name }),
    ...(resource.group !== '' && { group: resource.group }),
    ...(resource.resource !== '' && { kind: resource.resource }),
  };
}

export function retryAfter(seconds: number): StatusDetails {
  return seconds === 0 ? {} : { retryAfterSeconds: seconds };
}

export function cause(parts: StatusCause): StatusCause {
  return {
    ...(parts.reason && { reason: parts.reason }),
    ...(parts.message && { message: parts.message }),
  };
}

export function textOf(why: Error | string): string {
  return typeof why === 'string' ? why : why.message;
}
