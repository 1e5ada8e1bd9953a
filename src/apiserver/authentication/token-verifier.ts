// Verifies signatures of ServiceAccount tokens with any of several public keys, so that keys can be rotated.

import { outsideWork } from '#machinery/pending-work.ts';
import type { TokenKey } from '#machinery/token-keys.ts';
import { CLOCK_LEEWAY_SECONDS } from './authenticator.ts';

export interface VerifyOptions {
  /** Issuers of which one must have issued the token. */
  readonly issuers: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly requiredClaims?: readonly string[];
}

export class TokenVerifier {
  readonly keys: readonly TokenKey[];

  constructor(keys: readonly TokenKey[]) {
    // The signing key is often among the public keys, too.
    this.keys = [...new Map(keys.map((key) => [key.keyId, key])).values()];
  }

  /** Returns the claims; undefined: the token is not one that these keys have signed, or is not valid now. */
  async verify(
    token: string,
    { issuers, now, requiredClaims = [] }: VerifyOptions,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { decodeProtectedHeader, jwtVerify } = await outsideWork(import('jose'));
    let keyId: string | undefined;
    try {
      keyId = decodeProtectedHeader(token).kid;
    } catch {
      // No JSON web token at all.
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
        // Signed by another key, expired, or of another issuer: none of these is a token that is valid here.
      }
    }
    return undefined;
  }

  /** As upstream: a key ID selects the key, and without one each is tried. */
  #candidates(keyId: string | undefined): readonly TokenKey[] {
    return keyId === undefined || keyId === ''
      ? this.keys
      : this.keys.filter((key) => key.keyId === keyId);
  }
}
