// An OpenID Connect provider: its published addresses, and its keys. Both are requested when they
// are first needed, so that a provider which runs on the cluster itself can come later.

import type { JSONWebKeySet } from 'jose';
import type { Clock } from '#machinery/clock.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { type HttpsAnswer, httpsJson } from './https-json.ts';

export interface ProviderConfig {
  /** The issuer as tokens name it: an https address. */
  readonly issuer: string;
  /** The address of the provider's configuration. Default: the well-known one below the issuer. */
  readonly discoveryUrl?: string;
  /** Certificate authorities of the provider, as PEM. Default: those of Node. */
  readonly ca?: string;
  readonly clock: Clock;
}

/** The parts of the provider's configuration that are used here. */
export interface ProviderMetadata {
  readonly jwksUri: string;
  /** Absent: users cannot sign in with a browser. */
  readonly authorizationEndpoint?: string;
  readonly tokenEndpoint?: string;
  readonly tokenAuthMethods: readonly string[];
}

/** A provider that could not be reached is not asked again before, in ms, as upstream. */
const RETRY_MS = 10_000;

/** A value that is requested once. A failure is kept for a while. */
class Requested<T> {
  readonly #clock: Clock;
  readonly #request: () => Promise<T>;
  #value: Promise<T> | undefined;
  #hasFailed = false;
  /** In monotonic ms. */
  #requestedMs = -Infinity;

  constructor(clock: Clock, request: () => Promise<T>) {
    this.#clock = clock;
    this.#request = request;
  }

  /** Returns the value. `newer`: it is requested again if the last request is not too recent. */
  get(newer = false): Promise<T> {
    const before = this.#value;
    const now = this.#clock.monotonic();
    const mayRequest = now - this.#requestedMs >= RETRY_MS;
    if (before !== undefined && !((newer || this.#hasFailed) && mayRequest)) return before;
    this.#requestedMs = now;
    const value = this.#request();
    this.#value = value;
    value.then(
      () => (this.#hasFailed = false),
      () => {
        // The last value is better than none.
        if (before !== undefined && !this.#hasFailed) this.#value = before;
        else this.#hasFailed = true;
      },
    );
    return value;
  }
}

export class OidcProvider {
  readonly issuer: string;
  readonly #config: ProviderConfig;
  readonly #metadata: Requested<ProviderMetadata>;
  readonly #keys: Requested<JSONWebKeySet>;

  constructor(config: ProviderConfig) {
    this.#config = config;
    this.issuer = config.issuer;
    this.#metadata = new Requested(config.clock, () => this.#requestMetadata());
    this.#keys = new Requested(config.clock, () => this.#requestKeys());
  }

  /** Certificate authorities of the provider, as PEM. Absent: those of Node. */
  get ca(): string | undefined {
    return this.#config.ca;
  }

  /** Returns the provider's configuration. Rejects if it is not available, or of another issuer. */
  metadata(): Promise<ProviderMetadata> {
    return this.#metadata.get();
  }

  /**
   * Returns the provider's keys. `newer`: the last ones do not verify a token, so they are requested
   * again, at most every ten seconds.
   */
  keys(newer = false): Promise<JSONWebKeySet> {
    return this.#keys.get(newer);
  }

  /** Posts a form to an address of the provider. */
  post(
    url: string,
    form: URLSearchParams,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpsAnswer> {
    const { clock, ca } = this.#config;
    return httpsJson({ url, clock, form, headers, ...(ca !== undefined && { ca }) });
  }

  async #requestMetadata(): Promise<ProviderMetadata> {
    const { issuer } = this.#config;
    const url =
      this.#config.discoveryUrl ?? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const document = await this.#get(url);
    const { jwks_uri: jwksUri } = document;
    // Otherwise tokens of another issuer would be accepted.
    if (document['issuer'] !== issuer)
      throw new Error(`${url} is the configuration of another issuer`);
    if (typeof jwksUri !== 'string') throw new Error(`${url} has no jwks_uri`);
    const { authorization_endpoint: authorization, token_endpoint: token } = document;
    const methods = document['token_endpoint_auth_methods_supported'];
    return {
      jwksUri,
      ...(isHttps(authorization) && { authorizationEndpoint: authorization }),
      ...(isHttps(token) && { tokenEndpoint: token }),
      // The default of the specification.
      tokenAuthMethods: Array.isArray(methods) ? methods.map(String) : ['client_secret_basic'],
    };
  }

  async #requestKeys(): Promise<JSONWebKeySet> {
    const { jwksUri } = await this.metadata();
    const document = await this.#get(jwksUri);
    if (!Array.isArray(document['keys']) || !document['keys'].every(isPlainObject))
      throw new Error(`${jwksUri} has no keys`);
    return { keys: document['keys'] as unknown as JSONWebKeySet['keys'] };
  }

  async #get(url: string): Promise<Readonly<Record<string, unknown>>> {
    const { clock, ca } = this.#config;
    const { status, json } = await httpsJson({ url, clock, ...(ca !== undefined && { ca }) });
    if (status !== 200) throw new Error(`${url} answers with status ${status}`);
    if (!isPlainObject(json)) throw new Error(`${url} does not answer with a JSON object`);
    return json;
  }
}

const isHttps = (value: unknown): value is string =>
  typeof value === 'string' && URL.canParse(value) && new URL(value).protocol === 'https:';
