// Responses of the proxy itself.

import type { FrontRequest } from './front.ts';
import { headerValue } from './headers.ts';

/** gRPC status codes for HTTP status codes: gRPC clients do not read HTTP bodies. */
const GRPC_STATUSES: Readonly<Record<number, number>> = {
  400: 13,
  404: 12,
  413: 8,
  421: 14,
  500: 14,
  502: 14,
  503: 14,
  504: 4,
};

/** Sends a status and a short text. A gRPC request gets the corresponding gRPC status. */
export function answer(
  front: FrontRequest,
  status: number,
  text: string,
  headers: readonly string[] = [],
): number {
  if (front.headersSent) {
    front.abort();
    return status;
  }
  const isGrpc =
    front.protocol === 'HTTP/2' &&
    headerValue(front.headers, 'content-type')?.startsWith('application/grpc') === true;
  if (isGrpc) {
    const list = [
      'content-type',
      'application/grpc',
      'grpc-status',
      String(GRPC_STATUSES[status] ?? 2),
      'grpc-message',
      text,
    ];
    front.respond(200, list, { bodiless: true, trailers: undefined });
    return 200;
  }
  const body = Buffer.from(text === '' ? '' : `${text}\n`);
  const bodiless = front.method === 'HEAD' || body.length === 0;
  const list = [
    ...headers,
    'content-type',
    'text/plain; charset=utf-8',
    'content-length',
    String(body.length),
  ];
  const writable = front.respond(status, list, { bodiless, trailers: undefined });
  if (!bodiless) writable.end(body);
  return status;
}
