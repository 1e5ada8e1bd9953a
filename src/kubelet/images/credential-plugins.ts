// Credentials for images from credential provider plugins: programs of the node, which get a request
// with the image on standard input and print a response. Responses are cached as long as they say.

import type { AuthConfig } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { parseDuration } from '#machinery/text/duration.ts';
import type { CredentialProvider } from './credential-provider-config.ts';
import { parseImageName } from './image-name.ts';
import { matchesPlace, normalizePlace } from './pull-credentials.ts';

/** Runs a plugin. Resolves with its output; rejects with the reason why there is none. */
export type RunPlugin = (
  provider: CredentialProvider,
  input: string,
  signal: AbortSignal,
) => Promise<string>;

export interface CredentialPluginMetrics {
  credentialPluginRan(plugin: string, seconds: number, failed: boolean): void;
}

export interface CredentialPluginsConfig {
  readonly providers: readonly CredentialProvider[];
  readonly run: RunPlugin;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: CredentialPluginMetrics;
}

type Auths = Readonly<Record<string, AuthConfig>>;

interface Cached {
  readonly auths: Auths;
  /** In monotonic milliseconds. */
  readonly expiresAt: number;
}

interface Response {
  readonly auths: Auths;
  readonly cacheKeyType: 'Image' | 'Registry' | 'Global';
  readonly cacheMs: number | undefined;
}

const GLOBAL = '<global>';
const TIMEOUT_MS = 60_000;
/** An older entry is dropped when a new one comes. */
const MAX_CACHED = 1000;

export class CredentialPlugins {
  readonly #config: CredentialPluginsConfig;
  /** By plugin, and image, registry or GLOBAL. */
  readonly #cache = new Map<string, Cached>();
  /** Calls in flight, by plugin and image. */
  readonly #calls = new Map<string, Promise<Auths>>();

  constructor(config: CredentialPluginsConfig) {
    this.#config = config;
  }

  /**
   * Returns the credentials for the image, the most specific place first. A plugin that fails is
   * logged, and gives none.
   */
  async credentialsFor(image: string, signal: AbortSignal): Promise<readonly AuthConfig[]> {
    const { registry, repository } = parseImageName(image);
    const target = `${registry}/${repository}`;
    const isFor = (place: string): boolean => matchesPlace(normalizePlace(place), target);
    const asked = this.#config.providers.filter(({ matchImages }) => matchImages.some(isFor));
    const auths = await Promise.all(
      asked.map((provider) => this.#ask(provider, image, registry, signal)),
    );
    return auths
      .flatMap((found) => Object.entries(found))
      .filter(([place]) => isFor(place))
      .toSorted(([a], [b]) => normalizePlace(b).length - normalizePlace(a).length)
      .map(([, auth]) => auth);
  }

  async #ask(
    provider: CredentialProvider,
    image: string,
    registry: string,
    signal: AbortSignal,
  ): Promise<Auths> {
    const { clock, logger } = this.#config;
    const keyOf = (place: string): string => `${provider.name} ${place}`;
    for (const place of [image, registry, GLOBAL]) {
      const cached = this.#cache.get(keyOf(place));
      if (cached !== undefined && clock.monotonic() < cached.expiresAt) return cached.auths;
    }
    const key = keyOf(image);
    const call =
      this.#calls.get(key) ??
      this.#call(provider, image, registry).finally(() => this.#calls.delete(key));
    this.#calls.set(key, call);
    try {
      return await call;
    } catch (error) {
      signal.throwIfAborted();
      logger.error('credential provider: no credentials for image', {
        provider: provider.name,
        image,
        err: error,
      });
      return {};
    }
  }

  async #call(provider: CredentialProvider, image: string, registry: string): Promise<Auths> {
    const { run, clock, metrics } = this.#config;
    const request = {
      kind: 'CredentialProviderRequest',
      apiVersion: provider.apiVersion,
      image,
    };
    const begin = clock.monotonic();
    const timeout = new AbortController();
    const timer = clock.setTimer(TIMEOUT_MS, () =>
      timeout.abort(new Error('context deadline exceeded')),
    );
    let output: string;
    try {
      output = await run(provider, JSON.stringify(request), timeout.signal);
      metrics?.credentialPluginRan(provider.name, (clock.monotonic() - begin) / 1000, false);
    } catch (error) {
      metrics?.credentialPluginRan(provider.name, (clock.monotonic() - begin) / 1000, true);
      throw error;
    } finally {
      timer.cancel();
    }
    const {
      auths,
      cacheKeyType,
      cacheMs = provider.defaultCacheMs,
    } = readResponse(output, provider.apiVersion);
    const place = { Image: image, Registry: registry, Global: GLOBAL }[cacheKeyType];
    if (cacheMs > 0) {
      this.#cache.set(`${provider.name} ${place}`, {
        auths,
        expiresAt: clock.monotonic() + cacheMs,
      });
      const [oldest] = this.#cache.keys();
      if (this.#cache.size > MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest);
    }
    return auths;
  }
}

/** Throws an error for output that is no response. The output may be secret: it is not shown. */
function readResponse(output: string, apiVersion: string): Response {
  const failure = 'error decoding credential provider plugin response from stdout';
  let content: unknown;
  try {
    content = JSON.parse(output);
  } catch {
    throw new Error(failure);
  }
  const response = (content ?? {}) as Readonly<Record<string, unknown>>;
  if (response['apiVersion'] !== apiVersion) {
    throw new Error(
      'apiVersion from credential plugin response did not match expected ' +
        `apiVersion:${apiVersion}, actual apiVersion:${String(response['apiVersion'])}`,
    );
  }
  const { kind, cacheKeyType, cacheDuration, auth } = response;
  if (kind !== 'CredentialProviderResponse') throw new Error(failure);
  if (cacheKeyType !== 'Image' && cacheKeyType !== 'Registry' && cacheKeyType !== 'Global') {
    throw new Error(
      `credential provider plugin did not return a valid cacheKeyType: ${String(cacheKeyType)}`,
    );
  }
  const auths = Object.entries((auth ?? {}) as Readonly<Record<string, unknown>>).map(
    ([place, value]) => {
      const { username, password } = (value ?? {}) as Readonly<Record<string, unknown>>;
      if (typeof username !== 'string' || typeof password !== 'string') throw new Error(failure);
      return [place, { username, password }] as const;
    },
  );
  return {
    auths: Object.fromEntries(auths),
    cacheKeyType,
    cacheMs: typeof cacheDuration === 'string' ? parseDuration(cacheDuration) : undefined,
  };
}
