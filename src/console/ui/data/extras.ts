// The server's own endpoints beside the Kubernetes API. Each is optional: a server without it
// answers 404, and the page does not show the feature.

import type { Api } from './api.ts';
import { ApiError } from './api-error.ts';

const BASE = '/console/api';

export type ExtraName = 'why' | 'traffic' | 'scheduler' | 'timeline' | 'clock' | 'forks';

export class Extras {
  readonly #api: Api;
  readonly #available = new Map<ExtraName, boolean>();

  constructor(api: Api) {
    this.#api = api;
  }

  path(name: ExtraName, query: Readonly<Record<string, string>> = {}): string {
    const search = new URLSearchParams(query).toString();
    return `${BASE}/${name}${search === '' ? '' : `?${search}`}`;
  }

  json<T>(
    name: ExtraName,
    query: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#api.json<T>(this.path(name, query), { signal });
  }

  post<T>(name: ExtraName, body: unknown): Promise<T> {
    return this.#api.json<T>(this.path(name), { method: 'POST', body });
  }

  /** Reports whether the server has the endpoint; asks once. */
  async has(name: ExtraName): Promise<boolean> {
    const known = this.#available.get(name);
    if (known !== undefined) return known;
    const available = await this.#probe(name);
    this.#available.set(name, available);
    return available;
  }

  async #probe(name: ExtraName): Promise<boolean> {
    const abort = new AbortController();
    try {
      await this.#api.request(this.path(name), { signal: abort.signal });
      return true;
    } catch (error) {
      // Another error comes from an endpoint that is there (400 for missing parameters).
      return (
        error instanceof ApiError && error.code !== 404 && error.code !== 405 && error.code !== 501
      );
    } finally {
      abort.abort();
    }
  }
}
