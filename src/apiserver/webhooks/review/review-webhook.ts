// Sends reviews to a webhook that a kubeconfig names. Failures that may be temporary are tried again
// after a pause, as upstream.

import { DecodeError, decodeObject } from '#api/machinery/codec/index.ts';
import type { MessageDescriptor } from '#api/machinery/descriptor.ts';
import type { ServerAccess } from '#client/http/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Random } from '#machinery/random.ts';
import { quote } from '#machinery/text/go-format.ts';
import { WebhookCallError, type WebhookClients } from '../client/index.ts';

/** The longest answer that is read, in bytes. */
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** The largest number of values in an answer. */
const MAX_RESPONSE_VALUES = 20_000;

/** Upstream's back-off of webhooks about access. */
const ATTEMPTS = 5;
const INITIAL_BACKOFF_MS = 500;
const BACKOFF_FACTOR = 1.5;
const JITTER = 0.2;

export interface ReviewWebhookConfig {
  readonly clients: Pick<WebhookClients, 'callServer'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the server. A rejection fails the review, and the next one asks again. */
  readonly access: () => Promise<ServerAccess>;
  /** The time limit of one attempt, in ms. */
  readonly timeoutMs: number;
  /** The kind of the review. */
  readonly kind: string;
  /** The review's group and version, which are sent and expected. */
  readonly apiVersion: string;
  readonly message: MessageDescriptor;
  /** The pause before the second attempt, in ms. Default: 500. */
  readonly initialBackoffMs?: number;
}

export interface ReviewOptions {
  /** Ends the attempts. */
  readonly signal?: AbortSignal;
  /** Called after each attempt. */
  readonly onAttempt?: (attempt: ReviewAttempt) => void;
}

/** 'canceled': the caller did not want the answer any more. */
export interface ReviewAttempt {
  readonly result: 'success' | 'canceled' | 'timeout' | 'error';
  readonly durationMs: number;
}

export class ReviewWebhook {
  readonly #config: ReviewWebhookConfig;

  constructor(config: ReviewWebhookConfig) {
    this.#config = config;
  }

  /**
   * Sends the fields of a review, and resolves with the decoded answer. Rejects with
   * WebhookCallError.
   */
  async review<T>(fields: object, options: ReviewOptions = {}): Promise<T> {
    const { signal } = options;
    const { clock, random, kind, apiVersion } = this.#config;
    const body = { kind, apiVersion, metadata: {}, ...fields };
    let pauseMs = this.#config.initialBackoffMs ?? INITIAL_BACKOFF_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt<T>(body, options);
      } catch (error) {
        if (attempt === ATTEMPTS || signal?.aborted === true || !mayPass(error)) throw error;
      }
      // An abort makes the next attempt the last one.
      await clock.sleep(pauseMs * (1 + random.float() * JITTER), signal).catch(() => undefined);
      pauseMs *= BACKOFF_FACTOR;
    }
  }

  async #attempt<T>(body: object, { signal, onAttempt }: ReviewOptions): Promise<T> {
    const { clock } = this.#config;
    const begin = clock.monotonic();
    const done = (result: ReviewAttempt['result']): void =>
      onAttempt?.({ result, durationMs: clock.monotonic() - begin });
    try {
      const answer = await this.#call<T>(body, signal);
      done('success');
      return answer;
    } catch (error) {
      done(signal?.aborted === true ? 'canceled' : isTimeout(error) ? 'timeout' : 'error');
      throw error;
    }
  }

  async #call<T>(body: object, signal: AbortSignal | undefined): Promise<T> {
    const { clients, timeoutMs } = this.#config;
    let access: ServerAccess;
    try {
      access = await this.#config.access();
    } catch (error) {
      throw new WebhookCallError(errorMessage(error), { cause: error });
    }
    const json = await clients.callServer(access, body, {
      timeoutMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      maxResponseValues: MAX_RESPONSE_VALUES,
      ...(signal !== undefined && { signal }),
    });
    return this.#decode<T>(json);
  }

  /** A kind and a version that the answer does not name are those of the review, as upstream. */
  #decode<T>(json: unknown): T {
    const { message } = this.#config;
    const { kind = '', apiVersion = '' } = isPlainObject(json) ? json : {};
    const { kind: wantedKind, apiVersion: wantedVersion } = this.#config;
    const given = [kind === '' ? wantedKind : kind, apiVersion === '' ? wantedVersion : apiVersion];
    if (given[0] !== wantedKind || given[1] !== wantedVersion)
      throw new WebhookCallError(
        `no kind ${quote(String(given[0]))} is registered for version ${quote(String(given[1]))}: ` +
          `the webhook must respond with ${wantedKind} in version ${quote(wantedVersion)}`,
      );
    try {
      return decodeObject(message, json).object as T;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      throw new WebhookCallError(error.message, { cause: error });
    }
  }
}

/** Reports whether another attempt may succeed: upstream's rule. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof WebhookCallError)) return false;
  if (error.status === undefined) return isReset(error);
  const status = apierrors.fromStatus(error.status);
  return (
    apierrors.isInternalError(status) ||
    apierrors.isTimeout(status) ||
    apierrors.isTooManyRequests(status) ||
    apierrors.suggestsClientDelay(status) !== undefined
  );
}

const isReset = ({ message }: Error): boolean => message.endsWith('connection reset by peer');

function isTimeout(error: unknown): boolean {
  if (!(error instanceof WebhookCallError)) return false;
  const { status, message } = error;
  if (status !== undefined) return apierrors.isTimeout(apierrors.fromStatus(status));
  return message.includes('Client.Timeout exceeded') || message.includes('i/o timeout');
}
