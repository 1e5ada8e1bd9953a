// The keys of ServiceAccount tokens: one signs, and several are accepted.

import type { Awaitable } from '#machinery/awaitable.ts';
import {
  type TokenKey,
  tokenKeysOf,
  tokenSigner,
  type TokenSigner,
} from '#machinery/token-keys.ts';

export interface TokenKeyring {
  /** Another number after each change of the accepted keys. */
  readonly generation: number;
  /** Returns a compact JSON web signature (RFC 7515) of the claims. Rejects if there is none. */
  sign(claims: object): Awaitable<string>;
  /** Returns the accepted keys with an ID. Without one: all. */
  keysFor(keyId?: string): Awaitable<readonly TokenKey[]>;
  /** Returns the keys for other services, and for how many seconds these may keep them. */
  published(): { readonly keys: readonly TokenKey[]; readonly maxAgeSeconds: number };
  /** Returns metrics in Prometheus' text format. */
  metrics?(): string;
}

/** Keys that the server has. */
export class LocalKeyring implements TokenKeyring {
  readonly generation = 0;
  readonly #signer: TokenSigner;
  readonly #keys: readonly TokenKey[];

  /**
   * `signingKey`: a private key in PEM. `publicKeys`: the accepted keys in PEM; see tokenKeysOf.
   * Default: the public key of the signing key, which otherwise is accepted only if it is among
   * them, as upstream. Throws TypeError.
   */
  constructor(signingKey: string, publicKeys: readonly string[] = [signingKey]) {
    this.#signer = tokenSigner(signingKey);
    const keys = publicKeys.flatMap(tokenKeysOf);
    // The signing key is often among the public keys, too.
    this.#keys = [...new Map(keys.map((key) => [key.keyId, key])).values()];
  }

  sign(claims: object): string {
    return this.#signer.sign(claims);
  }

  keysFor(keyId = ''): readonly TokenKey[] {
    return keyId === '' ? this.#keys : this.#keys.filter((key) => key.keyId === keyId);
  }

  published(): { readonly keys: readonly TokenKey[]; readonly maxAgeSeconds: number } {
    return { keys: this.#keys, maxAgeSeconds: 3600 };
  }
}
