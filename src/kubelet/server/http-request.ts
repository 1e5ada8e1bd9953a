// A request to the kubelet's API: its address, and the error with which it can fail.

import type { IncomingMessage } from 'node:http';
import { errorMessage } from '#machinery/error-message.ts';

/** A request that fails with a code and a message. */
export class HttpError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns the decoded names of the path, and the query. Throws HttpError (400). */
export function parseUrl(request: IncomingMessage): {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
} {
  try {
    const url = new URL(request.url ?? '/', 'http://kubelet');
    return { path: url.pathname.split('/').map(decodeURIComponent), query: url.searchParams };
  } catch (error) {
    throw new HttpError(400, `Bad Request: ${errorMessage(error)}`);
  }
}

/** Returns the decoded path, for routing and authorization. Throws if it cannot be decoded. */
export function pathOf(request: IncomingMessage): string {
  return parseUrl(request).path.join('/');
}
