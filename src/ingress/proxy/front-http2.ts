// Adapts HTTP/2 streams to FrontRequest.

import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { closeStreamLater } from '#machinery/net/http2-close.ts';
import type { FrontRequest, RespondOptions } from './front.ts';
import { plainAddress, serverNameOf } from './front-http1.ts';
import { asHeaderObject, type HeaderList } from './headers.ts';

export class Http2Front implements FrontRequest {
  readonly protocol = 'HTTP/2';
  readonly #stream: ServerHttp2Stream;
  readonly #pseudo: IncomingHttpHeaders;
  readonly headers: HeaderList;
  readonly serverName: string | undefined;
  readonly remoteAddress: string;
  readonly localPort: number;
  readonly hasBody: boolean;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: HeaderList,
    socket: Socket | TLSSocket,
  ) {
    this.#stream = stream;
    this.#pseudo = headers;
    this.headers = raw;
    this.serverName = 'encrypted' in socket ? serverNameOf(socket) : undefined;
    this.remoteAddress = plainAddress(socket.remoteAddress);
    this.localPort = socket.localPort ?? 0;
    this.hasBody = !stream.endAfterHeaders;
  }

  get scheme(): 'http' | 'https' {
    return this.serverName === undefined ? 'http' : 'https';
  }

  get method(): string {
    return this.#pseudo[':method'] ?? '';
  }

  get target(): string {
    return this.#pseudo[':path'] ?? '';
  }

  get authority(): string {
    return this.#pseudo[':authority'] ?? this.#pseudo.host ?? '';
  }

  get body(): Readable {
    return this.#stream;
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  respond(status: number, headers: HeaderList, { bodiless, trailers }: RespondOptions): Writable {
    const stream = this.#stream;
    const object = { ...asHeaderObject(headers), ':status': status };
    if (bodiless || trailers === undefined) {
      stream.respond(object, { endStream: bodiless });
      return stream;
    }
    stream.respond(object, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(asHeaderObject(trailers())));
    return stream;
  }

  abort(): void {
    closeStreamLater(this.#stream, constants.NGHTTP2_INTERNAL_ERROR);
  }

  onClose(callback: (complete: boolean) => void): void {
    const stream = this.#stream;
    stream.once('close', () =>
      callback(stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted),
    );
  }
}
