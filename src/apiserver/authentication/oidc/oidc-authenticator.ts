// Authenticates the JSON web tokens of issuers: ID tokens of OpenID Connect providers.

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
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
import { DistributedClaims } from './distributed-claims.ts';
import { providerOf } from './new-issuers.ts';
import type { JwtSettings } from './settings.ts';
import { TokenSignatures } from './token-signatures.ts';
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
  readonly #signatures: TokenSignatures;
  /** Absent: users have no groups of a claim. */
  readonly #distributed: DistributedClaims | undefined;
  readonly #mapping: UserMapping;
  readonly #services: OidcServices;
  /** The claims of tokens with valid signatures, oldest first. */
  readonly #verified = new Map<string, Claims>();

  /** Throws Error for an expression that does not compile. */
  constructor(settings: JwtSettings, services: OidcServices) {
    this.settings = settings;
    this.#mapping = new UserMapping(settings);
    const { clock, logger } = services;
    const provider = providerOf(settings, clock);
    const { signingAlgorithms, groups } = settings;
    this.#signatures = new TokenSignatures({ provider, signingAlgorithms, logger });
    this.#distributed =
      groups !== undefined && 'claim' in groups
        ? new DistributedClaims({ claim: groups.claim, settings, clock, logger })
        : undefined;
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
      const expanded = await this.#distributed?.expand(token, claims);
      return await this.#mapping.userOf(expanded ?? claims);
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
      const claims = await this.#signatures.verify(token);
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
