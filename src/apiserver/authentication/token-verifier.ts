// Verifies signatures of ServiceAccount tokens with any of several public keys, so that keys can be
// rotated.

import { outsideWork } from '#machinery/pending-work.ts';
import type { TokenKey } from '#machinery/token-keys.ts';
import { CLOCK_LEEWAY_SECONDS } from './authenticator.ts';

export interface VerifyOptions {
  /** The accepted issuers. */
  readonly issuers: readonly string[];
  /** The current time in ms since the epoch. */
  readonly now: number;
  readonly requiredClaims?: readonly string[];
}

export class TokenVerifier {
  readonly keys: readonly TokenKey[];

  constructor(keys: readonly TokenKey[]) {
    // The signing key is often among the public keys, too.
    this.keys = [...new Map(keys.map((key) => [key.keyId, key])).values()];
  }

  /**
   * Returns the claims of a token. Undefined: no key has signed the token, or it is not valid now.
   */
  async verify(
    token: string,
    { issuers, now, requiredClaims = [] }: VerifyOptions,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { decodeProtectedHeader, jwtVerify } = await outsideWork(import('jose'));
    let keyId: string | undefined;
    try {
      keyId = decodeProtectedHeader(token).kid;
    } catch {
      // The text is not a JSON web token.
      return undefined;
    }
    for (const { algorithm, publicKey } of this.#candidates(keyId)) {
      const currentDate = new Date(now);
      const options = {
        issuer: [...issuers],
        algorithms: [algorithm],
        currentDate,
        clockTolerance: CLOCK_LEEWAY_SECONDS,
      };
      try {
        return (
          await outsideWork(
            jwtVerify(token, publicKey, { ...options, requiredClaims: [...requiredClaims] }),
          )
        ).payload;
      } catch {
        // The token is signed by another key, has expired, or has another issuer. The next key is
        // tried.
      }
    }
    return undefined;
  }

  /**
   * Returns the keys to try: the one with the token's key ID, or all if the token has none, as
   * upstream.
   */
  #candidates(keyId: string | undefined): readonly TokenKey[] {
    return keyId === undefined || keyId === ''
      ? this.keys
      : this.keys.filter((key) => key.keyId === keyId);
  }
}
