// Asks a webhook whose bearer tokens are. The webhook answers a TokenReview.

import { createHash } from 'node:crypto';
import { allSchemas } from '#api/all-schemas.ts';
import type { TokenReview } from '#api/groups/authentication/v1/index.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ServerAccess } from '#client/http/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { UserInfo } from '../../request.ts';
import type { WebhookClients } from '../../webhooks/client/index.ts';
import { ReviewWebhook, TtlCache } from '../../webhooks/review/index.ts';
import {
  type Refuse,
  refuseSilently,
  type TokenAnswer,
  type TokenAuthenticator,
} from '../authenticator.ts';

export interface TokenWebhookSettings {
  /** The kubeconfig of the webhook. The server reads it. */
  readonly kubeConfigFile: string;
  /** The version of the TokenReview that is sent and expected. */
  readonly reviewVersion: 'v1' | 'v1beta1';
  /** How long answers are kept, in ms. 0: they are not. */
  readonly cacheTtlMs: number;
}

export interface WebhookTokensServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly clients: Pick<WebhookClients, 'callServer'>;
  /** Returns the webhook's server. */
  readonly access: () => Promise<ServerAccess>;
  /** The audiences of the API server, for answers that name none. */
  readonly audiences: readonly string[];
}

/** The time limit of one call, in ms. */
const TIMEOUT_MS = 30_000;
/** The number of answers that are kept. */
const CACHE_CAPACITY = 8192;
/** The longest token that is sent. */
const MAX_TOKEN_LENGTH = 64 * 1024;
const REVIEW = allSchemas.message('authentication/v1.TokenReview');

type Review = Immutable<TokenReview>;

/** A token that the webhook does not know has no answer. */
interface Answered {
  readonly answer?: TokenAnswer;
  /** Why the token is not valid, if the webhook says so. */
  readonly reason?: string;
}

export class WebhookTokens implements TokenAuthenticator {
  readonly #settings: TokenWebhookSettings;
  readonly #services: WebhookTokensServices;
  readonly #webhook: ReviewWebhook;
  /** By the hash of token and audiences, so that no token stays in memory. */
  readonly #answers: TtlCache<Answered>;
  /** Calls in flight, by the same key: a client sends its token often. */
  readonly #calls = new Map<string, Promise<Answered>>();

  constructor(settings: TokenWebhookSettings, services: WebhookTokensServices) {
    this.#settings = settings;
    this.#services = services;
    this.#answers = new TtlCache(services.clock, CACHE_CAPACITY);
    this.#webhook = new ReviewWebhook({
      ...services,
      kind: 'TokenReview',
      apiVersion: `authentication.k8s.io/${settings.reviewVersion}`,
      message: REVIEW,
      timeoutMs: TIMEOUT_MS,
    });
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    refuse: Refuse = refuseSilently,
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const answered = ({ answer, reason }: Answered): TokenAnswer | undefined =>
      reason === undefined ? answer : refuse(reason);
    if (token.length > MAX_TOKEN_LENGTH) return undefined;
    const key = createHash('sha256')
      .update(JSON.stringify([token, audiences]))
      .digest('base64');
    const cached = this.#answers.get(key);
    if (cached !== undefined) return answered(cached);
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = this.#ask(token, audiences, key).finally(() => this.#calls.delete(key));
      this.#calls.set(key, call);
    }
    return call.then(answered);
  }

  /** A webhook that fails does not know the token. The next request asks again. */
  async #ask(token: string, audiences: readonly string[], key: string): Promise<Answered> {
    // The audiences of requests are those of the server, as upstream.
    const wanted = audiences.length === 0 ? this.#services.audiences : audiences;
    const { spec, status } = decodeObject<Review>(REVIEW, {
      spec: { token, audiences: wanted },
    }).object;
    let review: Review;
    try {
      review = await this.#webhook.review<Review>({ spec, status });
    } catch (error) {
      this.#services.logger.error('Failed to make webhook authenticator request', { err: error });
      return { reason: errorMessage(error) };
    }
    const answered = this.#answerOf(review.status, wanted);
    this.#answers.set(key, answered, this.#settings.cacheTtlMs);
    return answered;
  }

  #answerOf(
    { authenticated = false, user, error = '', audiences: given = [] }: Review['status'],
    wanted: readonly string[],
  ): Answered {
    const own = given.length > 0 ? given : this.#services.audiences;
    const common = wanted.filter((audience) => own.includes(audience));
    if (common.length === 0) return {};
    if (!authenticated) return error === '' ? {} : { reason: error };
    return { answer: { user: userOf(user), audiences: common } };
  }
}

function userOf({
  username = '',
  uid,
  groups = [],
  extra,
}: NonNullable<Review['status']['user']>): UserInfo {
  return {
    name: username,
    groups,
    ...(uid !== undefined && { uid }),
    ...(extra !== undefined && { extra }),
  };
}
