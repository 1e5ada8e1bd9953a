// A Status that another server has sent. It may be a server of a user, which may send anything.

import { isPlainObject } from '../deep.ts';
import { internalError } from './failures.ts';
import {
  fromStatus,
  type Status,
  type StatusCause,
  type StatusDetails,
  type StatusError,
} from './status.ts';

/**
 * Returns the Status in a received value; undefined if it is none. Fields of a wrong type are left
 * out. `code`: the code of the response, which replaces one that is no error's. A code such as 101
 * must not become that of a response of this server: a proxy in front would take the connection for
 * another protocol's.
 */
export function receivedStatus(value: unknown, code: number): Status | undefined {
  if (!isPlainObject(value) || value['kind'] !== 'Status') return undefined;
  const { metadata, status, details } = value;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: isPlainObject(metadata)
      ? {
          ...texts(metadata, ['continue', 'resourceVersion', 'selfLink']),
          ...numbers(metadata, ['remainingItemCount']),
        }
      : {},
    status: status === 'Success' ? 'Success' : 'Failure',
    ...texts(value, ['message', 'reason']),
    ...(isPlainObject(details) && { details: receivedDetails(details) }),
    code: isErrorCode(value['code']) ? value['code'] : code,
  };
}

/** Returns the error in an event of type ERROR. */
export function watchError(object: unknown): StatusError {
  const status = receivedStatus(object, 500);
  return status === undefined
    ? internalError('the watch ended with an error that is no Status')
    : fromStatus(status);
}

/** Reports whether a response with the code is an error of HTTP. */
export function isErrorCode(code: unknown): code is number {
  return Number.isInteger(code) && (code as number) >= 400 && (code as number) < 600;
}

type Fields = Readonly<Record<string, unknown>>;

function receivedDetails(details: Fields): StatusDetails {
  const { causes } = details;
  return {
    ...texts(details, ['name', 'group', 'kind', 'uid']),
    ...(Array.isArray(causes) && {
      causes: causes
        .filter((cause) => isPlainObject(cause))
        .map((cause): StatusCause => texts(cause, ['reason', 'message', 'field'])),
    }),
    ...numbers(details, ['retryAfterSeconds']),
  };
}

function texts<K extends string>(
  from: Fields,
  names: readonly K[],
): { readonly [N in K]?: string } {
  return pick(from, names, (value): value is string => typeof value === 'string');
}

function numbers<K extends string>(
  from: Fields,
  names: readonly K[],
): { readonly [N in K]?: number } {
  return pick(from, names, (value): value is number => Number.isSafeInteger(value));
}

function pick<K extends string, T>(
  from: Fields,
  names: readonly K[],
  is: (value: unknown) => value is T,
): { readonly [N in K]?: T } {
  const picked: { [N in K]?: T } = {};
  for (const name of names) {
    const value = from[name];
    if (is(value)) picked[name] = value;
  }
  return picked;
}
