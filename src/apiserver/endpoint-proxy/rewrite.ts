// A page that comes through a proxy is below a longer path than its server knows. Redirects and links of HTML pages that lead to the same
// server get that path, too, so that a client that follows them stays behind the proxy.

import { pipeline, Readable, Transform } from 'node:stream';
import type { Duplex } from 'node:stream';
import { createDeflate, createGunzip, createGzip, createInflate } from 'node:zlib';

import { rewriteLocation } from '../node-proxy/location.ts';
import type { ProxiedPlace } from '../node-proxy/location.ts';
import type { ApiResponse } from '../request.ts';
import { HtmlLinks } from './html-links.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/** Returns a stream that rewrites the links of the page that is written to it. */
function rewriteHtml(place: ProxiedPlace): Transform {
  const links = new HtmlLinks((link) => rewriteLocation(link, place));
  return new Transform({
    // Latin 1 keeps every byte; tags are ASCII in all encodings of pages.
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

/** So much of a page is rewritten in one turn of the event loop: a millisecond or two. */
const SLICE_BYTES = 16 * 1024;

const CORS = /^access-control-allow-(credentials|headers|methods|origin)$/;

/**
 * Returns the response with its redirect, or the links of its page, leading back through the proxy. A page is rewritten while it passes,
 * with back-pressure; one that is compressed is compressed again, as upstream does. CORS headers are left out: the backend does not decide
 * which origins may read what the API server serves.
 */
export function rewriteResponse(
  response: ApiResponse,
  place: ProxiedPlace,
  method: string,
): ApiResponse {
  const headers = Object.fromEntries(
    Object.entries(response.headers ?? {}).filter(([name]) => !CORS.test(name)),
  );
  const { location } = headers;
  const { body, code } = response;
  if (location !== undefined) headers['location'] = rewriteLocation(location, place);
  else if (body.kind === 'stream' && isPage(body.contentType) && mayHaveBody(method, code)) {
    const coding = CODINGS[headers['content-encoding'] ?? ''];
    // A page in another coding passes as it is.
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

/** Joins streams. The result is destroyed with the first of them that fails; to destroy the result destroys all of them. */
function through(source: AsyncIterable<Uint8Array>, transforms: readonly Duplex[]): Readable {
  const first = source instanceof Readable ? source : Readable.from(source, { objectMode: false });
  return pipeline([first, ...transforms], () => undefined) as unknown as Readable;
}

/** The streams that rewrite a page, by content encoding. Compression is at its fastest level: it serves the transfer only. */
const CODINGS: Readonly<Record<string, ((place: ProxiedPlace) => Duplex[]) | undefined>> = {
  '': (place) => [rewriteHtml(place)],
  identity: (place) => [rewriteHtml(place)],
  gzip: (place) => [createGunzip(), rewriteHtml(place), createGzip({ level: 1 })],
  deflate: (place) => [createInflate(), rewriteHtml(place), createDeflate({ level: 1 })],
};
