// Keeps a certificate of the kubelet valid: requests one when there is none, when the present one
// nears its end, and when the node's addresses are no longer in it.
//
// The manager never gives out an expired certificate. If the API does not issue a new one, it asks
// again for as long as it runs.

import { generateKeyPairSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KeyUsage } from '#api/groups/certificates/v1/index.ts';
import {
  makeCertificateRequest,
  type RequestTemplate,
} from '#api/groups/certificates/v1/make-request.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { certificateOf, type IssuedPair, satisfies } from './issued-pair.ts';
import { issuedCertificate, submitRequest } from './issue.ts';
import type { PairStore } from './pair-store.ts';
import { rotationDeadline } from './rotation.ts';

export interface CertificateManagerConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signerName: string;
  readonly usages: readonly KeyUsage[];
  /** Returns the wanted subject and names; undefined: none is to be requested yet. */
  readonly template: () => RequestTemplate | undefined;
  readonly store: Pick<PairStore, 'current' | 'update'>;
  /**
   * A pair for other purposes, which is used until the first one is issued. It is stored, and
   * replaced at once.
   */
  readonly bootstrap?: { readonly cert: string; readonly key: string };
  /**
   * Opens a client for one request. `current`: the certificate to authenticate with; undefined:
   * there is none that is valid.
   */
  readonly openClient: (current: IssuedPair | undefined) => OpenClient;
  readonly observer?: CertificateObserver;
}

export interface OpenClient {
  readonly client: Client;
  close(): void;
}

/** Records what happens, for metrics. */
export interface CertificateObserver {
  renewalFailed(): void;
  /** `ageSeconds`: how long the certificate that was replaced had been valid. */
  rotated(ageSeconds: number): void;
}

/** How long a request may take to be approved and signed before another one is made. */
const ISSUE_TIMEOUT_MS = 15 * 60_000;
const BACKOFF = { durationMs: 2000, factor: 2, jitter: 0.1, steps: 5 } as const;
/** The time between requests after the delays of BACKOFF. */
const RETRY_MS = 32_000;
const LOOP_MS = 1000;

export class CertificateManager {
  readonly #config: CertificateManagerConfig;
  #pair: IssuedPair | undefined;
  #rotateNow: boolean;
  #serverHealthy = false;
  /** The template of the last request that was accepted. */
  #requested: RequestTemplate | undefined;
  /** Ends the wait for the next rotation. */
  #wake: (() => void) | undefined;
  /** Ends the wait for a certificate whose template is out of date. */
  #abandon: (() => void) | undefined;
  readonly #listeners = new Set<(pair: IssuedPair) => void>();

  /** Reads the stored pair. Throws if a file cannot be used. */
  constructor(config: CertificateManagerConfig) {
    this.#config = config;
    const { store, clock, bootstrap, logger } = config;
    const stored = store.current();
    const isValid = stored !== undefined && clock.now() < stored.notAfter;
    this.#rotateNow = !isValid;
    if (isValid) this.#pair = stored;
    else if (bootstrap !== undefined) {
      this.#pair = certificateOf(bootstrap.cert, bootstrap.key);
      try {
        store.update(bootstrap.cert, bootstrap.key);
      } catch (error) {
        logger.error('unable to set the cert/key pair to the bootstrap certificate', {
          err: error,
        });
      }
    }
  }

  /** The present pair; undefined: there is none, or it has expired. */
  get current(): IssuedPair | undefined {
    const pair = this.#pair;
    return pair !== undefined && this.#config.clock.now() > pair.notAfter ? undefined : pair;
  }

  /** Reports whether the API server responded to the last request. */
  get serverHealthy(): boolean {
    return this.#serverHealthy;
  }

  /** Calls the function with each pair that replaces another one. */
  onChange(listener: (pair: IssuedPair) => void): void {
    this.#listeners.add(listener);
  }

  /** Compares the template with the present certificate now, because the template has changed. */
  templateChanged(): void {
    const template = this.#config.template();
    if (template === undefined || isDeepStrictEqual(template, this.#requested)) return;
    if (this.#pair !== undefined && satisfies(this.#pair, template)) return;
    this.#abandon?.();
    this.#wake?.();
  }

  /** Rotates the certificate until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    try {
      await wait.until({ clock, signal, periodMs: LOOP_MS }, () => this.#rotateWhenDue(signal));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #rotateWhenDue(signal: AbortSignal): Promise<void> {
    const { clock, logger, random, template } = this.#config;
    await this.#sleepUntil(this.#deadline(), signal);
    if (signal.aborted || template() === undefined) return;
    const rotate = (): Promise<boolean> => this.#rotate(signal);
    try {
      await wait.exponentialBackoff({ clock, signal, backoff: { ...BACKOFF, random } }, rotate);
    } catch (error) {
      if (!(error instanceof wait.WaitTimeoutError)) throw error;
      logger.error('reached backoff limit, still unable to rotate certs', this.#labels());
      const timeoutMs = Number.POSITIVE_INFINITY;
      await wait.poll({ clock, signal, intervalMs: RETRY_MS, timeoutMs }, rotate);
    }
  }

  #deadline(): number {
    const { template, random, logger } = this.#config;
    if (this.#rotateNow) {
      this.#rotateNow = false;
      return Number.NEGATIVE_INFINITY;
    }
    const deadline = rotationDeadline(this.#pair, template(), random);
    if (Number.isFinite(deadline))
      logger.info('certificate rotation deadline determined', {
        ...this.#labels(),
        deadline: new Date(deadline).toISOString(),
        expiration: new Date(this.#pair?.notAfter ?? 0).toISOString(),
      });
    return deadline;
  }

  /** Resolves at the wall-clock time, when the template changes, or when the signal aborts. */
  async #sleepUntil(deadline: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    const awake = new AbortController();
    const wake = (): void => awake.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    try {
      // The wall clock may be set meanwhile.
      for (let left = deadline - clock.now(); left > 0; left = deadline - clock.now())
        await clock.sleep(Math.min(left, MAX_SLEEP_MS), awake.signal);
    } catch (error) {
      if (!awake.signal.aborted) throw error;
    } finally {
      this.#wake = undefined;
      signal.removeEventListener('abort', wake);
    }
  }

  /** Requests a certificate. Resolves with false if there is none; never rejects for that. */
  async #rotate(signal: AbortSignal): Promise<boolean> {
    const { clock, logger, observer, template, signerName, usages } = this.#config;
    const wanted = template();
    if (wanted === undefined) return this.#failed('unable to create a csr, no template available');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'sec1', format: 'pem' }).toString();
    const request = makeCertificateRequest(privateKey, wanted);
    const abandoned = new AbortController();
    const either = AbortSignal.any([signal, abandoned.signal]);
    let failure = 'unable to load a client to request certificates';
    let opened: OpenClient | undefined;
    try {
      opened = this.#config.openClient(this.current);
      failure = 'failed while requesting a signed certificate from the control plane';
      const submitted = await this.#submit(opened.client, { request, signerName, usages }, signal);
      this.#requested = wanted;
      this.#abandon = () => abandoned.abort(new Error('the wanted certificate has changed'));
      failure = 'certificate request was not signed';
      const limits = { clock, timeoutMs: ISSUE_TIMEOUT_MS, signal: either };
      const cert = await issuedCertificate(opened.client, submitted, limits);
      failure = 'unable to store the new cert/key pair';
      const pair = this.#config.store.update(cert, key);
      const before = this.#pair;
      this.#pair = pair;
      this.#serverHealthy = true;
      if (before !== undefined) observer?.rotated((clock.now() - before.notBefore) / 1000);
      logger.info('certificate rotated', {
        ...this.#labels(),
        expiration: new Date(pair.notAfter).toISOString(),
      });
      for (const listener of this.#listeners) listener(pair);
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      return this.#failed(failure, error);
    } finally {
      this.#abandon = undefined;
      opened?.close();
    }
  }

  async #submit(
    client: Client,
    wanted: Parameters<typeof submitRequest>[1],
    signal: AbortSignal,
  ): ReturnType<typeof submitRequest> {
    try {
      return await submitRequest(client, wanted, signal);
    } catch (error) {
      // These are decisions of the API server itself. Other errors may come from what is in between.
      this.#serverHealthy =
        apierrors.isUnauthorized(error) ||
        apierrors.isNotFound(error) ||
        apierrors.isForbidden(error);
      throw error;
    }
  }

  #failed(message: string, error?: unknown): false {
    const { logger, observer } = this.#config;
    logger.error(message, { ...this.#labels(), ...(error !== undefined && { err: error }) });
    observer?.renewalFailed();
    return false;
  }

  #labels(): { readonly signer: string } {
    return { signer: this.#config.signerName };
  }
}

/** The longest wait without a look at the wall clock. */
const MAX_SLEEP_MS = 3600_000;
