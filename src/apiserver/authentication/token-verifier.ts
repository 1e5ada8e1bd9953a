// Verifies signatures of ServiceAccount tokens with any of several public keys, so that keys can be
// rotated.

import { isPlainObject } from '#machinery/deep.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import { issuerOf, looksLikeJwt, type Refuse } from './authenticator.ts';
import type { TokenKeyring } from './token-keyring.ts';

type UncheckedClaims = Readonly<Record<string, unknown>>;

export class TokenVerifier {
  readonly #keyring: Pick<TokenKeyring, 'keysFor'>;

  constructor(keyring: Pick<TokenKeyring, 'keysFor'>) {
    this.#keyring = keyring;
  }

  /**
   * Returns the claims of a token of one of the issuers, whose lifetime is not checked. Undefined:
   * it is of another issuer, or no key has signed it; `refuse` gets the latter.
   */
  async verify(
    token: string,
    issuers: readonly string[],
    refuse: Refuse,
  ): Promise<UncheckedClaims | undefined> {
    if (!looksLikeJwt(token) || !issuers.includes(issuerOf(token) as string)) return undefined;
    const { compactVerify, decodeProtectedHeader } = await outsideWork(import('jose'));
    let keyId: string | undefined;
    try {
      keyId = decodeProtectedHeader(token).kid;
    } catch {
      // The text is not a JSON web token.
      return undefined;
    }
    // Without a key ID all keys are tried, as upstream.
    const candidates = await this.#keyring.keysFor(keyId);
    if (candidates.length === 0) return refuse('invalid signature, no keys found');
    for (const { algorithm, publicKey } of candidates) {
      try {
        const { payload } = await outsideWork(
          compactVerify(token, publicKey, { algorithms: [algorithm] }),
        );
        const claims: unknown = JSON.parse(new TextDecoder().decode(payload));
        if (isPlainObject(claims)) return claims;
      } catch {
        // The token is signed by another key. The next key is tried.
      }
    }
    return refuse('go-jose/go-jose: error in cryptographic primitive');
  }
}
