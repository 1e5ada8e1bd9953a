// HTTP/1.1: for plain http:// servers (kubectl proxy) and for TLS servers without HTTP/2.

import http from 'node:http';
import https from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { Exchange, ExchangeRequest, ExchangeResponse } from './exchange.ts';

export class Http1Exchange implements Exchange {
  readonly #origin: URL;
  readonly #agent: http.Agent;

  /** `tls`: for https:// origins. */
  constructor(origin: URL, tls: ConnectionOptions | undefined) {
    this.#origin = origin;
    this.#agent =
      tls === undefined
        ? new http.Agent({ keepAlive: true })
        : new https.Agent({ ...tls, keepAlive: true });
  }

  exchange({ method, path, headers, body, signal }: ExchangeRequest): Promise<ExchangeResponse> {
    return new Promise((resolve, reject) => {
      const send = this.#origin.protocol === 'https:' ? https.request : http.request;
      const request = send({
        agent: this.#agent,
        protocol: this.#origin.protocol,
        hostname: this.#origin.hostname.replace(/^\[|\]$/g, ''),
        port: this.#origin.port || undefined,
        method,
        path,
        headers: {
          ...headers,
          ...(body !== undefined && { 'content-length': String(body.byteLength) }),
        } as http.OutgoingHttpHeaders,
      });
      const onAbort = (): void => {
        request.destroy();
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.once('close', () => signal.removeEventListener('abort', onAbort));
      // After the response has begun, its body throws the error. This listener only prevents an
      // unhandled event then.
      request.on('error', reject);
      request.once('response', (response) => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: response,
          cancel: () => request.destroy(),
        });
      });
      if (signal.aborted) onAbort();
      else request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
