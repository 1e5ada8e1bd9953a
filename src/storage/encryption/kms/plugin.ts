// A key management plugin: a program at a unix socket that encrypts and decrypts the seeds from
// which the keys of values are made.
//
// The status of the plugin names the key that it encrypts with now. When that changes, the server
// makes a new seed. It reads values of every key that the plugin still decrypts.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { KmsConfiguration } from './configuration.ts';
import { KmsConnection } from './connection.ts';
import { SEED, SEED_BYTES, SeedKey } from './data-key.ts';
import { checkEnvelope, type KeyEnvelope, keyIdHash, keyIdProblem } from './envelope.ts';
import type { KmsMetrics } from './metrics.ts';

/** How long a status counts for health checks. */
const HEALTHY_TTL_MS = 20_000;
const UNHEALTHY_TTL_MS = 3_000;
/** How often the status is asked for. */
const HEALTHY_PERIOD_MS = 60_000;
const UNHEALTHY_PERIOD_MS = 10_000;
/** How long a seed encrypts after the last good status. It decrypts for ever. */
const SEED_TTL_MS = 180_000;
/** `v2beta1` is what plugins of the beta report. */
const VERSIONS = ['v2', 'v2beta1'];

export interface KmsServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: KmsMetrics;
}

/** The seed that encrypts now. */
export interface WritingSeed {
  readonly key: SeedKey;
  readonly envelope: KeyEnvelope;
}

interface Outcome {
  readonly error: Error | undefined;
  readonly validUntilMs: number;
}

export class KmsPlugin {
  readonly name: string;
  readonly #endpoint: string;
  readonly #services: KmsServices;
  readonly #connection: KmsConnection;
  readonly #stopping = new AbortController();
  #seed: WritingSeed | undefined;
  /** On the monotonic clock. */
  #seedExpiresMs = 0;
  /** The version of the first status. It must not change. */
  #version: string | undefined;
  #outcome: Outcome | undefined;
  #checking: Promise<void> | undefined;

  constructor(configuration: KmsConfiguration, services: KmsServices) {
    this.name = configuration.name;
    this.#endpoint = configuration.endpoint;
    this.#services = services;
    this.#connection = new KmsConnection(configuration, services.clock, services.metrics);
  }

  /**
   * Asks the plugin once, and from then on periodically until `close`. A plugin that is not there is
   * no error.
   */
  async start(): Promise<void> {
    const isHealthy = await this.#isHealthy();
    void this.#keepChecked(isHealthy);
  }

  close(): void {
    this.#stopping.abort();
    this.#connection.close();
  }

  /** Returns the seed that the last good status has confirmed. Throws if there has been none. */
  current(): WritingSeed {
    if (this.#seed === undefined)
      throw new Error(
        `got unexpected nil transformer: the KMS plugin "${this.name}" has not been healthy since ` +
          `the start; start it at ${this.#endpoint}, or correct the encryption configuration`,
      );
    return this.#seed;
  }

  /** Returns the seed that encrypts. Throws if the plugin has failed for three minutes. */
  writing(): WritingSeed {
    const seed = this.current();
    const { clock } = this.#services;
    const lateMs = clock.monotonic() - this.#seedExpiresMs;
    if (lateMs <= 0) return seed;
    const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
    throw new Error(
      `encryptedDEKSource with keyID hash "${keyIdHash(seed.envelope.keyId)}" expired at ` +
        `${timeOf(clock.now() - lateMs)} (current time is ${timeOf(clock.now())})`,
    );
  }

  /** Returns the source of a key, decrypted. Rejects with the plugin's error. */
  async decrypt({ encryptedDekSource, keyId, annotations }: KeyEnvelope): Promise<Uint8Array> {
    const request = {
      ciphertext: encryptedDekSource,
      uid: this.#services.random.uuid(),
      keyId,
      annotations,
    };
    try {
      return (await this.#connection.call('Decrypt', request)).plaintext;
    } catch (error) {
      throw new Error(`failed to decrypt DEK, error: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** Rejects if the plugin is not healthy. The last answer counts for a while. */
  check(): Promise<void> {
    return (this.#checking ??= this.#checkOnce().finally(() => {
      this.#checking = undefined;
    }));
  }

  async #checkOnce(): Promise<void> {
    const { clock } = this.#services;
    if (this.#outcome !== undefined && clock.monotonic() < this.#outcome.validUntilMs) {
      if (this.#outcome.error !== undefined) throw this.#outcome.error;
      return;
    }
    const error = await this.#problem();
    const ttlMs = error === undefined ? HEALTHY_TTL_MS : UNHEALTHY_TTL_MS;
    // As in upstream, checks that find the failed call's result give its error alone.
    const { cause } = error ?? {};
    this.#outcome = {
      error: cause instanceof Error ? cause : error,
      validUntilMs: clock.monotonic() + ttlMs,
    };
    if (error !== undefined) throw error;
  }

  async #keepChecked(isHealthy: boolean): Promise<void> {
    const { signal } = this.#stopping;
    let healthy = isHealthy;
    while (!signal.aborted) {
      try {
        await this.#services.clock.sleep(healthy ? HEALTHY_PERIOD_MS : UNHEALTHY_PERIOD_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      healthy = await this.#isHealthy();
    }
  }

  async #isHealthy(): Promise<boolean> {
    try {
      await this.check();
      return true;
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#services.logger.error('kms plugin failed health check probe', {
          name: this.name,
          err: error,
        });
      return false;
    }
  }

  /** Asks for the status, and makes a seed for another key. Returns what is wrong. */
  async #problem(): Promise<Error | undefined> {
    const { name } = this;
    let status;
    try {
      status = await this.#connection.call('Status', {});
    } catch (error) {
      return new Error(
        `failed to perform status section of the healthz check for KMS Provider ${name}, ` +
          `error: ${errorMessage(error)}`,
        { cause: error },
      );
    }
    const { healthz, version, keyId } = status;
    const problems = [
      ...(healthz === 'ok' ? [] : [`got unexpected healthz status: ${healthz}`]),
      ...this.#versionProblem(version),
      ...(await this.#keyProblem(keyId)),
    ];
    if (problems.length === 0) return undefined;
    const text = problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`;
    return new Error(`kmsv2 Provider ${name} is not healthy, error: ${text}`);
  }

  #versionProblem(version: string): readonly string[] {
    if (!VERSIONS.includes(version)) return [`expected KMSv2 API version v2, got ${version}`];
    this.#version ??= version;
    if (version === this.#version) return [];
    return [
      'KMSv2 API version should not change after the initial status response version ' +
        `${this.#version}, got ${version}`,
    ];
  }

  async #keyProblem(keyId: string): Promise<readonly string[]> {
    const { metrics } = this.#services;
    const invalid = keyIdProblem(keyId);
    if (invalid !== undefined) {
      metrics.reportedInvalid(this.name, invalid.code);
      return [`got invalid KMSv2 KeyID hash "${keyIdHash(keyId)}": ${invalid.message}`];
    }
    metrics.reported(this.name, keyId);
    try {
      await this.#useKey(keyId);
      return [];
    } catch (error) {
      return [errorMessage(error)];
    }
  }

  /** Makes a seed for the key unless there is one. The present seed stays if that fails. */
  async #useKey(keyId: string): Promise<void> {
    const { clock, random } = this.#services;
    // The lifetime begins before the call.
    const expiresMs = clock.monotonic() + SEED_TTL_MS;
    if (this.#seed?.envelope.keyId === keyId) {
      this.#seedExpiresMs = expiresMs;
      return;
    }
    const seed = random.bytes(SEED_BYTES);
    const uid = random.uuid();
    let problem = '';
    let encryptedWith = '';
    try {
      const response = await this.#connection.call('Encrypt', { plaintext: seed, uid });
      encryptedWith = response.keyId;
      const envelope: KeyEnvelope = {
        keyId: response.keyId,
        encryptedDekSource: response.ciphertext,
        annotations: response.annotations,
        encryptedDekSourceType: SEED,
      };
      checkEnvelope(envelope);
      if (response.keyId === keyId) {
        this.#seed = { key: new SeedKey(seed), envelope };
        this.#seedExpiresMs = expiresMs;
        return;
      }
    } catch (error) {
      problem = `failed to encrypt DEK, error: ${errorMessage(error)}`;
    }
    throw new Error(
      `failed to rotate DEK uid="${uid}", errGen=${problem === '' ? '<nil>' : problem}, ` +
        `statusKeyIDHash="${keyIdHash(keyId)}", encryptKeyIDHash="${keyIdHash(encryptedWith)}", ` +
        `stateKeyIDHash="${keyIdHash(this.#seed?.envelope.keyId ?? '')}"`,
    );
  }
}
