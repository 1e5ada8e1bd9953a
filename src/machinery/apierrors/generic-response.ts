// Errors for failed responses whose body is not a Status.

import { quote } from '../text/go-format.ts';
import { cause, failure, forResource, retryAfter, UNEXPECTED_SERVER_RESPONSE } from './make.ts';
import {
  type GroupResource,
  groupResourceString,
  type StatusError,
  type StatusReason,
} from './status.ts';

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
