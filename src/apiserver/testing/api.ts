// An API client for tests: objects are given as YAML, responses are returned as JSON.

import { parseYaml } from '#api/machinery/codec/index.ts';
import type { ApiServer } from '../server.ts';
import { type RawResponse, send } from './requests.ts';

type Body = string | object;

export class Api {
  readonly #server: ApiServer;

  constructor(server: ApiServer) {
    this.#server = server;
  }

  get(path: string): Promise<RawResponse> {
    return this.#send('GET', path);
  }

  post(path: string, body: Body): Promise<RawResponse> {
    return this.#send('POST', path, body);
  }

  put(path: string, body: Body): Promise<RawResponse> {
    return this.#send('PUT', path, body);
  }

  /** Sends a merge patch. */
  patch(path: string, body: Body): Promise<RawResponse> {
    return this.#send('PATCH', path, body, 'application/merge-patch+json');
  }

  delete(path: string, body?: Body): Promise<RawResponse> {
    return this.#send('DELETE', path, body);
  }

  #send(
    method: string,
    path: string,
    body?: Body,
    type = 'application/json',
  ): Promise<RawResponse> {
    return send(this.#server, {
      method,
      path,
      ...(body !== undefined && {
        headers: { 'content-type': type },
        body: typeof body === 'string' ? (parseYaml(body) as object) : body,
      }),
    });
  }
}

/** Returns the code of a response; for an error also its reason and message. */
export const outcome = ({ code, json }: RawResponse): string =>
  code < 300 ? String(code) : `${code} ${json.reason ?? ''}: ${json.message}`;
