// Asks a webhook whether users may do what they request. The webhook answers a SubjectAccessReview.

import { allSchemas } from '#api/all-schemas.ts';
import type {
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from '#api/groups/authorization/v1/index.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ServerAccess } from '#client/http/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { WebhookClients } from '../../webhooks/client/index.ts';
import { type ReviewAttempt, ReviewWebhook, TtlCache } from '../../webhooks/review/index.ts';
import { accessReviewSpec } from '../access-review.ts';
import {
  type Attributes,
  type AuthorizationCaller,
  type Authorizer,
  type Decision,
  NO_OPINION,
  type RulesAnswer,
} from '../authorizer.ts';
import type { AuthorizationMetrics } from '../metrics.ts';
import type { WebhookAuthorizerSettings } from '../settings.ts';
import {
  compileMatchCondition,
  evaluateConditions,
  type MatchCondition,
} from './match-conditions.ts';

export interface WebhookAuthorizerServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly clients: Pick<WebhookClients, 'callServer'>;
  readonly metrics: AuthorizationMetrics;
  /** Returns the webhook's server. */
  readonly access: () => Promise<ServerAccess>;
}

/** The number of answers that are kept, as upstream. */
const CACHE_CAPACITY = 8192;
/**
 * The longest part of a request that its client chooses, in characters, whose answer is kept: longer
 * ones would fill the memory.
 */
const MAX_CACHED_LENGTH = 10_000;
const REVIEW = allSchemas.message('authorization/v1.SubjectAccessReview');

type Review = Immutable<SubjectAccessReview>;
type Status = Review['status'];

export class WebhookAuthorizer implements Authorizer {
  readonly #settings: WebhookAuthorizerSettings;
  readonly #services: WebhookAuthorizerServices;
  readonly #webhook: ReviewWebhook;
  readonly #conditions: readonly MatchCondition[];
  readonly #answers: TtlCache<Status>;

  /** Throws Error for match conditions that do not compile. */
  constructor(settings: WebhookAuthorizerSettings, services: WebhookAuthorizerServices) {
    this.#settings = settings;
    this.#services = services;
    this.#conditions = settings.matchConditions.map((source) => {
      const { condition, problem } = compileMatchCondition(source);
      if (condition === undefined) throw new Error(`${source}: ${problem}`);
      return condition;
    });
    this.#answers = new TtlCache(services.clock, CACHE_CAPACITY);
    this.#webhook = new ReviewWebhook({
      ...services,
      kind: 'SubjectAccessReview',
      apiVersion: `authorization.k8s.io/${settings.reviewVersion}`,
      message: REVIEW,
      timeoutMs: settings.timeoutMs,
    });
  }

  authorize(attributes: Attributes, caller?: AuthorizationCaller): Decision | Promise<Decision> {
    const spec = accessReviewSpec(attributes);
    return this.#conditions.length === 0
      ? this.#decide(spec, attributes, caller)
      : this.#decideIfMatched(spec, attributes, caller);
  }

  async #decideIfMatched(
    spec: SubjectAccessReviewSpec,
    attributes: Attributes,
    caller: AuthorizationCaller | undefined,
  ): Promise<Decision> {
    return (await this.#match(spec)) ?? this.#decide(spec, attributes, caller);
  }

  /** Returns the webhook's decision, from the cache if it is there. */
  #decide(
    spec: SubjectAccessReviewSpec,
    attributes: Attributes,
    caller: AuthorizationCaller | undefined,
  ): Decision | Promise<Decision> {
    const key = JSON.stringify(spec);
    const cached = this.#answers.get(key);
    return cached === undefined
      ? this.#ask(spec, isCacheable(attributes) ? key : undefined, caller?.signal)
      : decisionOf(cached);
  }

  rulesFor(): RulesAnswer {
    return {
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: 'webhook authorizer does not support user rule resolution',
    };
  }

  /** Returns the decision if the webhook is not to be asked. */
  async #match(spec: SubjectAccessReviewSpec): Promise<Decision | undefined> {
    const { clock, metrics } = this.#services;
    const { name } = this.#settings;
    const begin = clock.monotonic();
    const { matches, problem, failed } = await evaluateConditions(this.#conditions, spec);
    metrics.conditionsEvaluated(name, clock.monotonic() - begin);
    if (failed) metrics.conditionsFailed(name);
    if (problem !== undefined) return this.#failure(problem);
    if (matches) return undefined;
    metrics.excluded(name);
    return NO_OPINION;
  }

  /** `key`: the answer is kept under it. */
  async #ask(
    spec: SubjectAccessReviewSpec,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Decision> {
    const { logger, metrics } = this.#services;
    const { name, authorizedTtlMs, unauthorizedTtlMs, failurePolicy, reviewVersion } =
      this.#settings;
    let status: Status;
    let result: ReviewAttempt['result'] = 'error';
    const onAttempt = (attempt: ReviewAttempt): void => {
      ({ result } = attempt);
      metrics.called(name, attempt);
    };
    try {
      const body = bodyOf(spec, reviewVersion);
      ({ status } = await this.#webhook.review<Review>(body, { signal, onAttempt }));
    } catch (error) {
      logger.error('Failed to make webhook authorizer request', { webhook: name, err: error });
      if (failurePolicy === 'NoOpinion' && signal?.aborted !== true)
        metrics.failedOpen(name, result);
      return this.#failure(errorMessage(error));
    }
    if (key !== undefined)
      this.#answers.set(key, status, status.allowed ? authorizedTtlMs : unauthorizedTtlMs);
    return decisionOf(status);
  }

  #failure(error: string): Decision {
    const decision = this.#settings.failurePolicy === 'Deny' ? 'deny' : 'noOpinion';
    return { decision, reason: '', error };
  }
}

/** Returns the review without what is empty in it. v1beta1 has the groups under another name. */
function bodyOf(reviewed: SubjectAccessReviewSpec, version: 'v1' | 'v1beta1'): object {
  const { spec, status } = decodeObject<Review>(REVIEW, { spec: reviewed }).object;
  const groupsName = version === 'v1' ? 'groups' : 'group';
  const fields = Object.entries(spec).flatMap(([name, value]) => {
    if (name !== 'groups') return [[name, value]];
    return spec.groups?.length === 0 ? [] : [[groupsName, value]];
  });
  return { spec: Object.fromEntries(fields) as object, status };
}

function decisionOf({ allowed, denied = false, reason = '' }: Status): Decision {
  if (allowed && denied)
    return {
      decision: 'deny',
      reason,
      error: 'webhook subject access review returned both allow and deny response',
    };
  return { decision: denied ? 'deny' : allowed ? 'allow' : 'noOpinion', reason };
}

function isCacheable(attributes: Attributes): boolean {
  const { namespace, verb, apiGroup, apiVersion, resource, subresource, name, path } = attributes;
  const parts = [namespace, verb, apiGroup, apiVersion, resource, subresource, name, path];
  return parts.reduce((length, part) => length + part.length, 0) < MAX_CACHED_LENGTH;
}
