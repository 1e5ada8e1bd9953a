// Rewrites responses that pass a proxy. The client sees a page below a longer path than the page's
// server does. So redirects and links in HTML pages that lead to the same server get that path
// added, and a client that follows them stays behind the proxy.

import { type Duplex, pipeline, Readable, Transform } from 'node:stream';
import { createDeflate, createGunzip, createGzip, createInflate } from 'node:zlib';

import { type ProxiedPlace, rewriteLocation } from '../node-proxy/location.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { inNextTurn } from '#machinery/pending-work.ts';
import { responseHeader } from '../header-values.ts';
import type { ApiResponse } from '../request.ts';
import { HtmlLinks } from './html-links.ts';

/** Returns a stream that rewrites the links of a page. */
function rewriteHtml(place: ProxiedPlace): Transform {
  const links = new HtmlLinks((link) => rewriteLocation(link, place));
  return new Transform({
    // Latin 1 preserves every byte, and tags are ASCII in all encodings of pages.
    transform(chunk: Buffer, _encoding, callback) {
      const next = (at: number): void => {
        if (this.destroyed) return;
        const end = Math.min(at + SLICE_BYTES, chunk.length);
        const text = links.push(chunk.toString('latin1', at, end));
        if (end === chunk.length) callback(null, Buffer.from(text, 'latin1'));
        else {
          this.push(Buffer.from(text, 'latin1'));
          inNextTurn(() => next(end));
        }
      };
      inNextTurn(() => next(0));
    },
    flush: (callback) => callback(null, Buffer.from(links.end(), 'latin1')),
  });
}

/** The number of bytes that are rewritten in one turn of the event loop, which takes 1–2 ms. */
const SLICE_BYTES = 16 * 1024;

const CORS = /^access-control-allow-(credentials|headers|methods|origin)$/;

/**
 * Returns the response with its redirect and links rewritten. A page is rewritten as a stream with
 * back-pressure; a compressed page is compressed again, as upstream. CORS headers are removed: the
 * backend must not decide which origins may read responses of the API server.
 */
export function rewriteResponse(
  response: ApiResponse,
  place: ProxiedPlace,
  method: string,
): ApiResponse {
  const headers = Object.fromEntries(
    Object.entries(response.headers ?? {}).filter(([name]) => !CORS.test(name)),
  );
  const location = responseHeader(headers, 'location');
  const { body, code } = response;
  if (location !== undefined) headers['location'] = rewriteLocation(location, place);
  else if (body.kind === 'stream' && isPage(body.contentType) && mayHaveBody(method, code)) {
    const coding = ownValue(CODINGS, responseHeader(headers, 'content-encoding') ?? '');
    // A page in another content coding passes unchanged.
    if (coding !== undefined)
      return {
        ...response,
        headers,
        body: { ...body, stream: through(body.stream, coding(place)) },
      };
  }
  return { ...response, headers };
}

const isPage = (contentType: string): boolean =>
  contentType.split(';')[0]?.trim().toLowerCase() === 'text/html';

const mayHaveBody = (method: string, code: number): boolean =>
  method !== 'HEAD' && code !== 204 && code !== 304;

/**
 * Joins streams. The result is destroyed when the first of them fails; destroying the result
 * destroys all of them.
 */
function through(source: AsyncIterable<Uint8Array>, transforms: readonly Duplex[]): Readable {
  const first = source instanceof Readable ? source : Readable.from(source, { objectMode: false });
  return pipeline([first, ...transforms], () => undefined) as unknown as Readable;
}

/**
 * The streams that rewrite a page, by content coding. Compression uses the fastest level, since it
 * only serves the transfer.
 */
const CODINGS: Readonly<Record<string, (place: ProxiedPlace) => Duplex[]>> = {
  '': (place) => [rewriteHtml(place)],
  identity: (place) => [rewriteHtml(place)],
  gzip: (place) => [createGunzip(), rewriteHtml(place), createGzip({ level: 1 })],
  deflate: (place) => [createInflate(), rewriteHtml(place), createDeflate({ level: 1 })],
};
