// Service account tokens of pods. A token is requested when a pod's volume needs it, cached while
// it is valid, and requested again after four fifths of its lifetime (or a day).

import { serviceAccounts } from '#api/groups/core/v1/index.ts';
import type { TokenRequest as TokenRequestObject } from '#api/groups/authentication/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podUid } from './types.ts';
import type { TokenRequest } from './volumes/payload.ts';

interface Token {
  readonly token: string;
  /** As the API server states it. */
  readonly expirationTimestamp: string;
  /** When the token is requested again, in wall-clock milliseconds. */
  readonly refreshAt: number;
}

const MAX_AGE_MS = 24 * 3_600_000;
const SHARE_OF_LIFE = 0.8;

export class TokenManager {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, Map<string, Token>>();

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** How many pods have tokens. */
  get size(): number {
    return this.#tokens.size;
  }

  /** Returns a token. Rejects with a message for the pod's owner. */
  async get(request: TokenRequest): Promise<string> {
    return (await this.getWithExpiration(request)).token;
  }

  /** Returns a token with its end. Rejects with a message for the pod's owner. */
  async getWithExpiration(
    request: TokenRequest,
  ): Promise<Pick<Token, 'token' | 'expirationTimestamp'>> {
    const uid = podUid(request.pod);
    const key = JSON.stringify([request.audience ?? null, request.expirationSeconds]);
    const known = this.#tokens.get(uid)?.get(key);
    if (known !== undefined && this.#clock.now() < known.refreshAt) return known;
    const { metadata, spec } = request.pod;
    const account = spec.serviceAccountName ?? 'default';
    let answer: TokenRequestObject;
    try {
      answer = await this.#client
        .resource(serviceAccounts)
        .namespace(metadata.namespace ?? '')
        .subresource<TokenRequestObject>(account, 'token', {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: {
            audiences: request.audience === undefined ? [] : [request.audience],
            expirationSeconds: request.expirationSeconds,
            boundObjectRef: {
              apiVersion: 'v1',
              kind: 'Pod',
              name: metadata.name,
              uid: metadata.uid,
            },
          },
        });
    } catch (error) {
      throw new Error(`failed to fetch token: ${errorMessage(error)}`, { cause: error });
    }
    const now = this.#clock.now();
    const expires = Date.parse(answer.status.expirationTimestamp ?? '');
    const life = Number.isNaN(expires) ? request.expirationSeconds * 1000 : expires - now;
    const tokens = this.#tokens.get(uid) ?? new Map<string, Token>();
    const token = {
      token: answer.status.token,
      expirationTimestamp: answer.status.expirationTimestamp ?? '',
      refreshAt: now + Math.min(life * SHARE_OF_LIFE, MAX_AGE_MS),
    };
    this.#tokens.set(uid, tokens.set(key, token));
    return token;
  }

  /** Returns the UIDs of pods with a token that must be requested again. */
  due(): readonly string[] {
    const now = this.#clock.now();
    return [...this.#tokens]
      .filter(([, tokens]) => [...tokens.values()].some((token) => token.refreshAt <= now))
      .map(([uid]) => uid);
  }

  forget(uid: string): void {
    this.#tokens.delete(uid);
  }
}
