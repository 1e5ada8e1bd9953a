// Authenticates bootstrap tokens: the credentials of machines that are to join the cluster, kept in
// Secrets of kube-system.

import type { Secret } from '#api/groups/core/v1/index.ts';
import {
  BOOTSTRAP_TOKEN_NAMESPACE,
  bootstrapSecretName,
  bootstrapUser,
  parseBootstrapToken,
} from '#api/groups/core/v1/bootstrap-token.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { UserInfo } from '../request.ts';
import { serverAudiences, type TokenAnswer, type TokenAuthenticator } from './authenticator.ts';

export interface BootstrapTokensConfig {
  readonly clock: Clock;
  readonly find: Find;
  /** The audiences of the API server: the tokens are valid only for them. */
  readonly audiences: readonly string[];
}

export class BootstrapTokens implements TokenAuthenticator {
  readonly #config: BootstrapTokensConfig;

  constructor(config: BootstrapTokensConfig) {
    this.#config = config;
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenAnswer | undefined> {
    const common = serverAudiences(this.#config.audiences, audiences);
    if (common === undefined) return undefined;
    const user = await this.#userOf(token);
    return user === undefined ? undefined : { user, audiences: common };
  }

  async #userOf(text: string): Promise<UserInfo | undefined> {
    const token = parseBootstrapToken(text);
    if (token === undefined) return undefined;
    const { clock, find } = this.#config;
    const name = bootstrapSecretName(token.id);
    const secret = await find<Immutable<Secret>>('', 'secrets', BOOTSTRAP_TOKEN_NAMESPACE, name);
    return secret && bootstrapUser(secret, token, clock.now());
  }
}
