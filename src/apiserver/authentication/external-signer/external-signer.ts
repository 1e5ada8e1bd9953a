// A program at a unix socket that signs tokens of ServiceAccounts, and has the public keys of those
// that are accepted (--service-account-signing-endpoint). The server has no key.

import { type Clock, systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import type { Input, Message } from '#machinery/grpc/schema.ts';
import type { Logger } from '#machinery/log.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import type { TokenKey } from '#machinery/token-keys.ts';
import type { TokenKeyring } from '../token-keyring.ts';
import { signerSchema } from './schema.ts';
import { headerKeyId, type SignerKey, signerKeysOf } from './signer-keys.ts';
import { SignerMetrics } from './signer-metrics.ts';

/** How long a call may take, also to a signer that is being started. */
const TIMEOUT_MS = 60_000;
/** When keys that could not be read are read again. */
const RETRY_MS = 10_000;

type Methods = (typeof signerSchema)['services']['ExternalJWTSigner'];

export interface ExternalSignerConfig {
  /** The path of a unix socket, or the name of an abstract one: `@name`. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ExternalSigner implements TokenKeyring {
  readonly #config: ExternalSignerConfig;
  readonly #connection: RpcConnection<typeof signerSchema>;
  readonly #metrics = new SignerMetrics();
  #generation = 0;
  #keys: readonly SignerKey[] = [];
  /** On the monotonic clock. */
  #refreshAtMs = 0;
  #fetching: Promise<void> | undefined;

  constructor(config: ExternalSignerConfig) {
    this.#config = config;
    // The signer is outside of a simulation, and so are the deadlines of its calls.
    this.#connection = new RpcConnection(signerSchema, config.endpoint, systemClock);
  }

  get generation(): number {
    return this.#generation;
  }

  /** Reads the keys for the first time. Rejects if they cannot be had within a minute. */
  start(): Promise<void> {
    return this.#fetch();
  }

  /** Reads the keys again whenever the signer wants it, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config;
    let delayMs = this.#untilRefreshMs();
    while (!signal.aborted) {
      try {
        await clock.sleep(delayMs, signal);
      } catch (error) {
        if (signal.aborted) break;
        throw error;
      }
      try {
        await this.#fetch();
        delayMs = this.#untilRefreshMs();
      } catch (error) {
        delayMs = RETRY_MS;
        logger.error('service account tokens: reading the public keys failed, will retry', {
          err: error,
        });
      }
    }
  }

  close(): void {
    this.#connection.close();
  }

  /** Returns the longest lifetime of a token, in seconds. */
  async maxLifetimeSeconds(): Promise<number> {
    return (await this.#call('Metadata', {})).maxTokenExpirationSeconds;
  }

  async sign(claims: object): Promise<string> {
    try {
      const token = await this.#signed(Buffer.from(JSON.stringify(claims)).toString('base64url'));
      this.#metrics.signed();
      return token;
    } catch (error) {
      this.#metrics.signed(error);
      throw error;
    }
  }

  async #signed(payload: string): Promise<string> {
    const { header, signature } = await within(
      'signing jwt',
      this.#call('Sign', { claims: payload }),
    );
    await within('validating header', this.#checkHeader(header));
    if (signature === '') throw new Error('empty signature returned');
    return `${header}.${payload}.${signature}`;
  }

  async #checkHeader(header: string): Promise<void> {
    const keyId = headerKeyId(header);
    const keys = await this.#find(keyId);
    if (keys.some(({ isHidden }) => isHidden))
      throw new Error(
        `key used for signing JWT (kid: ${keyId}) is excluded from OIDC discovery docs`,
      );
  }

  keysFor(keyId = ''): Promise<readonly TokenKey[]> {
    return this.#find(keyId);
  }

  published(): { readonly keys: readonly TokenKey[]; readonly maxAgeSeconds: number } {
    return {
      keys: this.#keys.filter(({ isHidden }) => !isHidden),
      maxAgeSeconds: Math.floor(this.#untilRefreshMs() / 1000),
    };
  }

  metrics(): string {
    return this.#metrics.text();
  }

  /** Returns the keys with an ID, or all. If there are none, they are read again. */
  async #find(keyId: string): Promise<readonly SignerKey[]> {
    const known = this.#known(keyId);
    if (known.length > 0) return known;
    try {
      await this.#fetch();
    } catch (error) {
      this.#config.logger.error('service account tokens: reading the public keys failed', {
        err: error,
      });
      return [];
    }
    return this.#known(keyId);
  }

  #known(keyId: string): readonly SignerKey[] {
    return keyId === '' ? this.#keys : this.#keys.filter((key) => key.keyId === keyId);
  }

  #untilRefreshMs(): number {
    return Math.max(0, this.#refreshAtMs - this.#config.clock.monotonic());
  }

  #fetch(): Promise<void> {
    return (this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    }));
  }

  async #fetchOnce(): Promise<void> {
    const { clock } = this.#config;
    try {
      const { keys, readAtSeconds, refreshSeconds } = signerKeysOf(
        await this.#call('FetchKeys', {}),
      );
      this.#keys = keys;
      this.#generation++;
      this.#refreshAtMs = clock.monotonic() + refreshSeconds * 1000;
      this.#metrics.fetched(clock.now(), readAtSeconds);
    } catch (error) {
      this.#metrics.fetchFailed(error);
      throw new Error(`while fetching token verification keys: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  async #call<M extends keyof Methods>(
    method: M,
    request: Input<typeof signerSchema, Methods[M][0]>,
  ): Promise<Message<typeof signerSchema, Methods[M][1]>> {
    const { clock } = this.#config;
    const began = clock.monotonic();
    const options = { timeoutMs: TIMEOUT_MS, waitForReady: true };
    try {
      const response = await outsideWork(
        this.#connection.call('ExternalJWTSigner', method, request, options),
      );
      this.#metrics.called(method, undefined, clock.monotonic() - began);
      return response;
    } catch (error) {
      this.#metrics.called(method, error, clock.monotonic() - began);
      throw error;
    }
  }
}

/** Says of an error in which step it occurred. */
async function within<T>(step: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`while ${step}: ${errorMessage(error)}`, { cause: error });
  }
}
