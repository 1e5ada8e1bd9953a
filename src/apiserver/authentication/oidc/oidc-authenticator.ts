// Authenticates the JSON web tokens of issuers: ID tokens of OpenID Connect providers.

import { isDeepStrictEqual } from 'node:util';
import type { JWK } from 'jose';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import type { UserInfo } from '../../request.ts';
import {
  issuerOf,
  looksLikeJwt,
  type Refuse,
  refuseSilently,
  serverAudiences,
  type TokenAnswer,
  type TokenAuthenticator,
} from '../authenticator.ts';
import { ClaimError, type Claims, checkToken } from './claims.ts';
import type { JwtSettings } from './settings.ts';
import { UserMapping } from './user-mapping.ts';

/** The number of verified signatures that are cached: a client sends its token often. */
const MAX_VERIFIED = 1024;

export interface OidcServices {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The audiences of the API server. */
  readonly audiences: readonly string[];
}

export class OidcAuthenticator implements TokenAuthenticator {
  readonly settings: JwtSettings;
  readonly #provider: OidcProvider;
  readonly #mapping: UserMapping;
  readonly #services: OidcServices;
  /** The claims of tokens with valid signatures, oldest first. */
  readonly #verified = new Map<string, Claims>();

  /** Throws Error for an expression that does not compile. */
  constructor(settings: JwtSettings, services: OidcServices) {
    const { issuer, discoveryUrl, ca } = settings;
    this.settings = settings;
    this.#mapping = new UserMapping(settings);
    this.#provider = new OidcProvider({
      issuer,
      clock: services.clock,
      ...(discoveryUrl !== undefined && { discoveryUrl }),
      ...(ca !== undefined && { ca }),
    });
    this.#services = services;
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
    refuse: Refuse = refuseSilently,
  ): Promise<TokenAnswer | undefined> {
    // The token's own audience is the client. For others it is a token of the API server.
    const common = serverAudiences(this.#services.audiences, audiences);
    if (common === undefined) return undefined;
    const user = await this.#userOf(token, refuse);
    return user === undefined ? undefined : { user, audiences: common };
  }

  async #userOf(token: string, refuse: Refuse): Promise<UserInfo | undefined> {
    if (!looksLikeJwt(token) || issuerOf(token) !== this.settings.issuer) return undefined;
    const { clock, logger } = this.#services;
    const claims = await this.#claimsOf(token, refuse);
    if (claims === undefined) return undefined;
    try {
      checkToken(claims, this.settings, clock.now());
      return this.#mapping.userOf(claims);
    } catch (error) {
      if (!(error instanceof ClaimError)) throw error;
      // Only tokens that the provider has signed come here, so clients cannot flood the log.
      logger.warn('Unable to authenticate the request', { err: error });
      return refuse(error.message);
    }
  }

  /** Returns the claims. Undefined: the signature is not valid, or the provider is unavailable. */
  async #claimsOf(token: string, refuse: Refuse): Promise<Claims | undefined> {
    const known = this.#verified.get(token);
    if (known !== undefined) return known;
    try {
      const claims = await this.#verify(token);
      const [oldest] = this.#verified.keys();
      if (this.#verified.size >= MAX_VERIFIED && oldest !== undefined)
        this.#verified.delete(oldest);
      this.#verified.set(token, claims);
      return claims;
    } catch (error) {
      this.#services.logger.debug('oidc: a token was rejected', { reason: errorMessage(error) });
      return refuse('oidc: verify token: failed to verify signature');
    }
  }

  async #verify(token: string): Promise<Claims> {
    const { compactVerify, decodeProtectedHeader } = await outsideWork(import('jose'));
    const { alg = '', kid } = decodeProtectedHeader(token);
    if (!this.settings.signingAlgorithms.includes(alg)) throw new Error(`the algorithm is ${alg}`);
    for (const newer of [false, true]) {
      const { keys } = await this.#provider.keys(newer);
      for (const key of keys.filter((each) => canVerify(each, alg, kid))) {
        try {
          const { payload } = await outsideWork(compactVerify(token, key, { algorithms: [alg] }));
          const claims = JSON.parse(new TextDecoder().decode(payload)) as unknown;
          if (isPlainObject(claims)) return claims;
        } catch (error) {
          // Another key, or the provider's next ones, may have signed it.
          this.#services.logger.debug('oidc: a key does not verify a token', {
            reason: errorMessage(error),
          });
        }
      }
    }
    throw new Error('oidc: verify token: failed to verify signature: no key verifies it');
  }
}

/** The authenticators of all issuers, which may change while the server runs. */
export class JwtAuthenticators implements TokenAuthenticator {
  readonly #settings: () => readonly JwtSettings[];
  readonly #services: OidcServices;
  #applied: readonly JwtSettings[] = [];
  #authenticators: readonly OidcAuthenticator[] = [];

  /** `settings` returns the same list until the issuers change. */
  constructor(settings: () => readonly JwtSettings[], services: OidcServices) {
    this.#settings = settings;
    this.#services = services;
    this.#current();
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
    refuse: Refuse = refuseSilently,
  ): Promise<TokenAnswer | undefined> {
    for (const authenticator of this.#current()) {
      const answer = await authenticator.authenticateToken(token, audiences, refuse);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  /** An issuer whose settings stay keeps its keys. */
  #current(): readonly OidcAuthenticator[] {
    const settings = this.#settings();
    if (settings === this.#applied) return this.#authenticators;
    const before = this.#authenticators;
    this.#authenticators = settings.map(
      (each) =>
        before.find((one) => isDeepStrictEqual(one.settings, each)) ??
        new OidcAuthenticator(each, this.#services),
    );
    this.#applied = settings;
    return this.#authenticators;
  }
}

/** Reports whether a key may have signed a token. A secret key must not verify anything. */
const canVerify = (key: JWK, alg: string, kid: string | undefined): boolean =>
  key.kty !== 'oct' &&
  (key.use === undefined || key.use === 'sig') &&
  (key.alg === undefined || key.alg === alg) &&
  (kid === undefined || kid === '' || key.kid === kid);
