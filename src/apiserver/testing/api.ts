// An API client for tests: objects are given as YAML, responses are returned as JSON.

import { parseYaml } from '#api/machinery/codec/index.ts';
import { type RawResponse, send } from './requests.ts';
import type { TestServer } from './server.ts';

type Body = string | object;

export class Api {
  readonly #test: Pick<TestServer, 'server'>;

  /** Each request goes to the server that `test` has at that time. */
  constructor(test: Pick<TestServer, 'server'>) {
    this.#test = test;
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
    return send(this.#test.server, {
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
