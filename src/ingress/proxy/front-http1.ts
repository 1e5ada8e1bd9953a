// Adapts HTTP/1.1 requests to FrontRequest.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Readable, Writable } from 'node:stream';
import type { FrontRequest, RespondOptions } from './front.ts';
import type { HeaderList } from './headers.ts';

export class Http1Front implements FrontRequest {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #encrypted: boolean;

  constructor(request: IncomingMessage, response: ServerResponse, encrypted: boolean) {
    this.#request = request;
    this.#response = response;
    this.#encrypted = encrypted;
  }

  get protocol(): 'HTTP/1.0' | 'HTTP/1.1' {
    return this.#request.httpVersionMinor === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
  }

  get scheme(): 'http' | 'https' {
    return this.#encrypted ? 'https' : 'http';
  }

  get serverName(): string | undefined {
    return this.#encrypted ? serverNameOf(this.#request.socket as TLSSocket) : undefined;
  }

  get remoteAddress(): string {
    return plainAddress(this.#request.socket.remoteAddress);
  }

  get localPort(): number {
    return this.#request.socket.localPort ?? 0;
  }

  get method(): string {
    return this.#request.method ?? '';
  }

  get target(): string {
    return this.#request.url ?? '';
  }

  get authority(): string {
    return this.#request.headers.host ?? '';
  }

  get headers(): HeaderList {
    return this.#request.rawHeaders;
  }

  get hasBody(): boolean {
    const { headers } = this.#request;
    return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  }

  get body(): Readable {
    return this.#request;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  respond(status: number, headers: HeaderList, { bodiless, trailers }: RespondOptions): Writable {
    const response = this.#response;
    response.writeHead(status, headers as string[]);
    if (bodiless) response.end();
    else if (trailers !== undefined) {
      const end = response.end.bind(response);
      // Trailers are available when the body ends, which is when a pipe ends the response.
      response.end = (() => {
        const list = trailers();
        if (list.length > 0) response.addTrailers(pairs(list));
        response.end = end;
        return end();
      }) as typeof response.end;
    }
    return response;
  }

  abort(): void {
    this.#request.socket.destroy();
  }

  onClose(callback: (complete: boolean) => void): void {
    this.#response.once('close', () => callback(this.#response.writableFinished));
  }
}

function pairs(list: HeaderList): [string, string][] {
  return Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i]!, list[2 * i + 1]!]);
}

export function serverNameOf(socket: TLSSocket): string {
  const { servername } = socket as { readonly servername?: string | false };
  return typeof servername === 'string' ? servername.toLowerCase() : '';
}

/** Returns a socket's IPv4 address without the prefix of dual-stack sockets. */
export const plainAddress = (address = ''): string =>
  address.startsWith('::ffff:') ? address.slice(7) : address;
