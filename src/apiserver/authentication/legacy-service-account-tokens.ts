// Authenticates tokens that are stored in Secrets. The token controller creates one for every
// Secret that requests it. Such a token does not expire: it is valid as long as its Secret contains
// it and its ServiceAccount exists.

import type { Secret, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { UserInfo } from '../request.ts';
import { looksLikeJwt, type TokenAnswer, type TokenAuthenticator } from './authenticator.ts';
import {
  dayOf,
  INVALID_SINCE_LABEL,
  LAST_USED_LABEL,
  type UsedSecret,
} from './legacy-token-tracking.ts';
import type { TokenVerifier } from './token-verifier.ts';

export interface LegacyServiceAccountTokensConfig {
  readonly clock: Clock;
  readonly find: Find;
  /** Has the public key of the controller that signs these tokens. */
  readonly verifier: TokenVerifier;
  /** The audiences of these tokens, which contain none. */
  readonly audiences: readonly string[];
  /** Called for the first use of a token on each day. Default: uses are not tracked. */
  readonly noteUse?: (secret: UsedSecret, day: string) => void;
}

const ISSUER = 'kubernetes/serviceaccount';
const CLAIM = 'kubernetes.io/serviceaccount/';

export class LegacyServiceAccountTokens implements TokenAuthenticator {
  readonly #config: LegacyServiceAccountTokensConfig;
  /** The day for which a Secret's use was recorded, by UID. Entries of earlier days are dropped. */
  #noted = new Map<string, string>();

  constructor(config: LegacyServiceAccountTokensConfig) {
    this.#config = config;
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenAnswer | undefined> {
    if (!looksLikeJwt(token)) return undefined;
    const common = audiences.filter((audience) => this.#config.audiences.includes(audience));
    if (audiences.length > 0 && common.length === 0) return undefined;
    const user = await this.#userOf(token);
    return user === undefined ? undefined : { user, audiences: common };
  }

  async #userOf(token: string): Promise<UserInfo | undefined> {
    const claims = await this.#verify(token);
    if (claims === undefined) return undefined;
    const claim = (name: string): string => {
      const value = claims[CLAIM + name];
      return typeof value === 'string' ? value : '';
    };
    const [namespace, name, uid] = [
      claim('namespace'),
      claim('service-account.name'),
      claim('service-account.uid'),
    ];
    if (
      namespace === '' ||
      name === '' ||
      claims['sub'] !== `system:serviceaccount:${namespace}:${name}`
    )
      return undefined;
    const { find } = this.#config;
    const secret = await find<Immutable<Secret>>('', 'secrets', namespace, claim('secret.name'));
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
    if (Buffer.from(secret.data?.['token'] ?? '', 'base64').toString('utf8') !== token)
      return undefined;
    const account = await find<Immutable<ServiceAccount>>('', 'serviceaccounts', namespace, name);
    if (account?.metadata.uid !== uid || account.metadata.deletionTimestamp !== undefined)
      return undefined;
    if ((secret.metadata.labels?.[INVALID_SINCE_LABEL] ?? '') !== '') return undefined;
    this.#note(secret);
    return {
      name: `system:serviceaccount:${namespace}:${name}`,
      uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    };
  }

  #note({ metadata }: Immutable<Secret>): void {
    const { noteUse, clock } = this.#config;
    const today = dayOf(clock.now());
    if (
      noteUse === undefined ||
      metadata.labels?.[LAST_USED_LABEL] === today ||
      this.#noted.get(metadata.uid) === today
    )
      return;
    if ([...this.#noted.values()][0] !== today) this.#noted = new Map();
    this.#noted.set(metadata.uid, today);
    noteUse({ namespace: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid }, today);
  }

  #verify(token: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.#config.verifier.verify(token, {
      issuers: [ISSUER],
      now: this.#config.clock.now(),
    });
  }
}
