// The server's own endpoints beside the Kubernetes API. Each is optional: the page does not show
// the features that the server does not name.

import type { Api } from './api.ts';
import { isForbidden, isNotFound } from './api-error.ts';

const BASE = '/console/api';

export type ExtraName = 'why' | 'traffic' | 'scheduler' | 'clock' | 'forks';

export class Extras {
  readonly #api: Api;
  #features: Promise<ReadonlySet<string>> | undefined;

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

  /** Reports whether the server has the endpoint. */
  async has(name: ExtraName): Promise<boolean> {
    this.#features ??= this.#read();
    return (await this.#features).has(name);
  }

  /** Another user may have other permissions. */
  forget(): void {
    this.#features = undefined;
  }

  /** A failure is not kept: the next call asks again. */
  async #read(): Promise<ReadonlySet<string>> {
    try {
      const { features } = await this.#api.json<{ features: readonly string[] }>(
        `${BASE}/features`,
      );
      return new Set(features);
    } catch (error) {
      if (isNotFound(error) || isForbidden(error)) return new Set();
      this.#features = undefined;
      throw error;
    }
  }
}
