// Verifies the signatures of an issuer's JSON web tokens.

import type { JWK } from 'jose';
import { isPlainObject } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import type { Claims } from './claims.ts';

export interface TokenSignaturesConfig {
  readonly provider: OidcProvider;
  readonly signingAlgorithms: readonly string[];
  readonly logger: Logger;
}

export class TokenSignatures {
  readonly #config: TokenSignaturesConfig;

  constructor(config: TokenSignaturesConfig) {
    this.#config = config;
  }

  /** Returns the claims. Rejects if no key verifies the token, or the provider is unavailable. */
  async verify(token: string): Promise<Claims> {
    const { provider, signingAlgorithms, logger } = this.#config;
    const { compactVerify, decodeProtectedHeader } = await outsideWork(import('jose'));
    const { alg = '', kid } = decodeProtectedHeader(token);
    if (!signingAlgorithms.includes(alg)) throw new Error(`the algorithm is ${alg}`);
    for (const newer of [false, true]) {
      const { keys } = await provider.keys(newer);
      for (const key of keys.filter((each) => canVerify(each, alg, kid))) {
        try {
          const { payload } = await outsideWork(compactVerify(token, key, { algorithms: [alg] }));
          const claims = JSON.parse(new TextDecoder().decode(payload)) as unknown;
          if (isPlainObject(claims)) return claims;
        } catch (error) {
          // Another key, or the provider's next ones, may have signed it.
          logger.debug('oidc: a key does not verify a token', { reason: errorMessage(error) });
        }
      }
    }
    throw new Error('failed to verify signature: no key verifies it');
  }
}

/** Reports whether a key may have signed a token. A secret key must not verify anything. */
const canVerify = (key: JWK, alg: string, kid: string | undefined): boolean =>
  key.kty !== 'oct' &&
  (key.use === undefined || key.use === 'sig') &&
  (key.alg === undefined || key.alg === alg) &&
  (kid === undefined || kid === '' || key.kid === kid);
