// The manifest of static pods behind a URL: a Pod or a PodList, as YAML or JSON.

import type { Clock } from '#machinery/clock.ts';
import { withTimeout } from '../handlers/timeout.ts';
import type { Pod } from '../types.ts';
import type { GetText, HttpHeaders } from './http.ts';
import { MAX_MANIFEST_BYTES, parseManifests } from './manifests.ts';
import type { StaticPodSource } from './static-pods.ts';

export interface UrlSourceConfig {
  readonly clock: Clock;
  readonly nodeName: string;
  /** http: or https:. */
  readonly url: string;
  readonly headers: HttpHeaders;
  readonly get: GetText;
  readonly checkMs: number;
  /** Aborts a request when the kubelet stops. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 10_000;

export class UrlSource implements StaticPodSource {
  readonly name: string;
  readonly checkMs: number;
  readonly #config: UrlSourceConfig;
  /** The last manifest that could be used, and its pods. */
  #last: { readonly text: string; readonly pods: readonly Pod[] } | undefined;

  constructor(config: UrlSourceConfig) {
    this.#config = config;
    // The URL may contain a password.
    const { origin, pathname } = new URL(config.url);
    this.name = origin + pathname;
    this.checkMs = config.checkMs;
  }

  /**
   * Returns the pods of the manifest. An empty manifest has none. Rejects if the server cannot be
   * reached, or does not send a valid manifest.
   */
  async read(): Promise<readonly Pod[]> {
    const { clock, signal, nodeName, url } = this.#config;
    const text = await withTimeout(clock, TIMEOUT_MS, signal, (limited) => this.#fetch(limited));
    if (text === this.#last?.text) return this.#last.pods;
    const pods = await parseManifests(text, {
      nodeName,
      source: 'http',
      origin: `url:${url}`,
      now: clock.now(),
    });
    this.#last = { text, pods };
    return pods;
  }

  async #fetch(signal: AbortSignal): Promise<string> {
    const { get, url, headers } = this.#config;
    const { status, statusText, text } = await get(url, headers, MAX_MANIFEST_BYTES, signal);
    if (status !== 200) throw new Error(`${this.name}: ${status} ${statusText}`);
    return text;
  }
}
