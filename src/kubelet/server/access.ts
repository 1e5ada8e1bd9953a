// Authenticates and authorizes requests to the kubelet's API through the API server: TokenReview
// for bearer tokens, and SubjectAccessReview for every user. Anonymous requests are never served.

import { createHash } from 'node:crypto';
import { tokenReviews } from '#api/groups/authentication/v1/index.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { withTimeout } from '../handlers/timeout.ts';
import type { RequestAttributes } from './request-attributes.ts';

/** The identity behind a request. */
export interface ServerUser {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Authenticates and authorizes requests. Both methods reject if no decision can be made. */
export interface ServerAccess {
  /** Returns the user of a bearer token; undefined for an invalid token. */
  authenticate(token: string): Promise<ServerUser | undefined>;
  /** Reports whether the user may make the request. */
  authorize(user: ServerUser, attributes: RequestAttributes): Promise<boolean>;
}

export interface ApiAccessConfig {
  /** The node's client, which may create TokenReviews and SubjectAccessReviews. */
  readonly client: Client;
  readonly clock: Clock;
  readonly nodeName: string;
  /** Default: DEFAULT_ACCESS. */
  readonly settings?: Partial<AccessSettings>;
}

/** `authentication` and `authorization` of upstream's KubeletConfiguration. */
export interface AccessSettings {
  /** Bearer tokens are checked by TokenReview. False: only client certificates identify users. */
  readonly tokenWebhook: boolean;
  /** How long a valid token is cached, in milliseconds. */
  readonly tokenTtlMs: number;
  /** 'AlwaysAllow': every authenticated user may make every request. */
  readonly authorizationMode: AuthorizationMode;
  /** How long decisions are cached, in milliseconds. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
}

export type AuthorizationMode = 'Webhook' | 'AlwaysAllow';

/** The defaults of upstream's KubeletConfiguration. */
export const DEFAULT_ACCESS: AccessSettings = {
  tokenWebhook: true,
  tokenTtlMs: 120_000,
  authorizationMode: 'Webhook',
  authorizedTtlMs: 300_000,
  unauthorizedTtlMs: 30_000,
};
/** Bounds the memory that a stream of different tokens or users can take. */
const CACHE_CAPACITY = 1024;
/** The time limit for one review. */
const REVIEW_TIMEOUT_MS = 10_000;

interface Cached<T> {
  readonly value: T;
  /** The expiry in monotonic milliseconds. */
  readonly until: number;
}

export class ApiAccess implements ServerAccess {
  readonly #config: ApiAccessConfig;
  readonly #settings: AccessSettings;
  /** Keyed by the token's hash, so that no token stays in memory. Only valid tokens are kept. */
  readonly #tokens = new LruCache<string, Cached<ServerUser>>({ capacity: CACHE_CAPACITY });
  readonly #decisions = new LruCache<string, Cached<boolean>>({ capacity: CACHE_CAPACITY });

  constructor(config: ApiAccessConfig) {
    this.#config = config;
    this.#settings = { ...DEFAULT_ACCESS, ...config.settings };
  }

  async authenticate(token: string): Promise<ServerUser | undefined> {
    if (!this.#settings.tokenWebhook) return undefined;
    const key = createHash('sha256').update(token).digest('base64');
    const cached = this.#fresh(this.#tokens.get(key));
    if (cached !== undefined) return cached;
    const { client, clock } = this.#config;
    const { status } = await withTimeout(clock, REVIEW_TIMEOUT_MS, undefined, (signal) =>
      client.resource(tokenReviews).create({ metadata: {}, spec: { token } }, { signal }),
    );
    if (status.authenticated !== true || status.user === undefined) return undefined;
    const { username = '', groups = [], uid, extra } = status.user;
    const user: ServerUser = { name: username, groups, uid, extra };
    this.#tokens.set(key, { value: user, until: clock.monotonic() + this.#settings.tokenTtlMs });
    return user;
  }

  async authorize(user: ServerUser, { verb, subresources }: RequestAttributes): Promise<boolean> {
    if (this.#settings.authorizationMode === 'AlwaysAllow') return true;
    for (const subresource of subresources)
      if (await this.#isAllowed(user, verb, subresource)) return true;
    return false;
  }

  async #isAllowed(user: ServerUser, verb: string, subresource: string): Promise<boolean> {
    const key = JSON.stringify([user.name, user.groups, user.uid, user.extra, verb, subresource]);
    const cached = this.#fresh(this.#decisions.get(key));
    if (cached !== undefined) return cached;
    const { client, clock, nodeName } = this.#config;
    const spec = {
      user: user.name,
      groups: [...user.groups],
      uid: user.uid,
      extra: user.extra,
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
    };
    const review = await withTimeout(clock, REVIEW_TIMEOUT_MS, undefined, (signal) =>
      client.resource(subjectAccessReviews).create({ metadata: {}, spec }, { signal }),
    );
    const value = review.status.allowed;
    const ttl = value ? this.#settings.authorizedTtlMs : this.#settings.unauthorizedTtlMs;
    this.#decisions.set(key, { value, until: clock.monotonic() + ttl });
    return value;
  }

  #fresh<T>(cached: Cached<T> | undefined): T | undefined {
    return cached === undefined || cached.until <= this.#config.clock.monotonic()
      ? undefined
      : cached.value;
  }
}
