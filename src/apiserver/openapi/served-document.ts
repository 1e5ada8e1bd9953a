// Responds to requests for an OpenAPI document: with its ETag, or with the hash by which clients
// cache a document permanently.

import type { GzipPieces } from '#machinery/streams/gzip-pieces.ts';
import type { ApiRequest, ApiResponse, ResponseBody } from '../request.ts';

export interface OpenApiDocument {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/** A document that is kept compressed. */
export interface CompressedDocument {
  readonly pieces: GzipPieces;
  readonly hash: string;
}

/**
 * Returns the response. `path`: the path of a document that can be requested by its hash.
 * Undefined: it cannot.
 */
export function servedDocument(
  request: ApiRequest,
  path: string | undefined,
  document: OpenApiDocument | CompressedDocument,
  contentType = 'application/json',
): ApiResponse {
  const { hash } = document;
  const etag = `"${hash}"`;
  const headers: Record<string, string> = { etag, vary: 'Accept' };
  const requestedHash = request.query.get('hash') ?? '';
  if (requestedHash !== '' && path !== undefined) {
    if (requestedHash !== hash)
      return { code: 301, headers: { location: `${path}?hash=${hash}` }, body: { kind: 'none' } };
    // A client that requests a document by its hash may cache it permanently.
    headers['cache-control'] = 'public, immutable';
  }
  const known = request.headers['if-none-match'];
  if (known === etag || known === '*') return { code: 304, headers, body: { kind: 'none' } };
  return { code: 200, headers, body: bodyOf(document, contentType) };
}

function bodyOf(document: OpenApiDocument | CompressedDocument, contentType: string): ResponseBody {
  if ('bytes' in document) return { kind: 'bytes', contentType, bytes: document.bytes };
  const { pieces } = document;
  return {
    kind: 'stream',
    contentType,
    stream: { [Symbol.asyncIterator]: () => pieces.plain() },
    length: pieces.length,
    gzip: pieces,
  };
}
