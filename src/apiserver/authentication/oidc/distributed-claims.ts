// Claims that an ID token does not have itself: it names an address at which another token has them
// (OpenID Connect Core 1.0, section 5.6.2). As upstream, this is done for the claim with the groups.
// Texts of errors are those of kube-apiserver's log.

import { getOwn, isPlainObject } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { httpsJson } from '#machinery/net/oidc/https-json.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { TtlCache } from '../../webhooks/review/index.ts';
import { issuerOf, looksLikeJwt } from '../authenticator.ts';
import { ClaimError, type Claims, checkToken } from './claims.ts';
import type { JwtSettings } from './settings.ts';
import { TokenSignatures } from './token-signatures.ts';

/** The number of issuers of such tokens whose keys are kept. */
const MAX_ISSUERS = 16;
/** How long a claim is kept, as upstream keeps the user of a token, in ms. */
const KEPT_MS = 10_000;
const MAX_KEPT = 1024;

export interface DistributedClaimsConfig {
  /** The claim that may be elsewhere. */
  readonly claim: string;
  readonly settings: JwtSettings;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DistributedClaims {
  readonly #config: DistributedClaimsConfig;
  /** By issuer, oldest first. */
  readonly #signatures = new Map<string, TokenSignatures>();
  /** By ID token. */
  readonly #values: TtlCache<{ readonly value: unknown }>;
  /** Requests in flight, by ID token: a client sends its token often. */
  readonly #calls = new Map<string, Promise<unknown>>();

  constructor(config: DistributedClaimsConfig) {
    this.#config = config;
    this.#values = new TtlCache(config.clock, MAX_KEPT);
  }

  /**
   * Returns the claims of a valid ID token with the claim that is elsewhere. Rejects with ClaimError
   * if it cannot be had.
   */
  async expand(token: string, claims: Claims): Promise<Claims> {
    const { claim } = this.#config;
    const source = sourceOf(claims, claim);
    if (source === undefined) return claims;
    const known = this.#values.get(token);
    if (known !== undefined) return { ...claims, [claim]: known.value };
    let call = this.#calls.get(token);
    if (call === undefined) {
      call = this.#resolve(source).finally(() => this.#calls.delete(token));
      this.#calls.set(token, call);
    }
    const value = await call;
    this.#values.set(token, { value }, KEPT_MS);
    return { ...claims, [claim]: value };
  }

  async #resolve({ endpoint, accessToken }: Source): Promise<unknown> {
    const { claim, settings, clock } = this.#config;
    const token = await this.#tokenAt(endpoint, accessToken);
    const issuer = looksLikeJwt(token) ? issuerOf(token) : undefined;
    if (typeof issuer !== 'string')
      throw failure(
        `getting untrusted issuer from endpoint ${endpoint} failed for claim ${JSON.stringify(claim)}`,
      );
    let claims: Claims;
    try {
      claims = await this.#signaturesOf(issuer).verify(token);
      checkToken(claims, { issuer, audiences: settings.audiences }, clock.now());
    } catch (error) {
      throw failure(`verify distributed claim token: ${errorMessage(error)}`);
    }
    if (!Object.hasOwn(claims, claim))
      throw failure(
        `jwt returned by distributed claim endpoint ${JSON.stringify(endpoint)} did not contain claim: ${claim}`,
      );
    return claims[claim];
  }

  async #tokenAt(endpoint: string, accessToken: string): Promise<string> {
    const { claim, settings, clock } = this.#config;
    try {
      const { status, text } = await httpsJson({
        url: endpoint,
        clock,
        ...(settings.ca !== undefined && { ca: settings.ca }),
        ...(accessToken !== '' && { headers: { authorization: `Bearer ${accessToken}` } }),
      });
      if (status < 200 || status > 226)
        throw new Error(`error while getting distributed claim JWT: ${status}`);
      return text.trim();
    } catch (error) {
      throw failure(
        `while getting distributed claim ${JSON.stringify(claim)}: ${errorMessage(error)}`,
      );
    }
  }

  #signaturesOf(issuer: string): TokenSignatures {
    const known = this.#signatures.get(issuer);
    if (known !== undefined) return known;
    const { settings, clock, logger } = this.#config;
    const { ca, signingAlgorithms } = settings;
    const provider = new OidcProvider({ issuer, clock, ...(ca !== undefined && { ca }) });
    const signatures = new TokenSignatures({ provider, signingAlgorithms, logger });
    const [oldest] = this.#signatures.keys();
    if (this.#signatures.size >= MAX_ISSUERS && oldest !== undefined)
      this.#signatures.delete(oldest);
    this.#signatures.set(issuer, signatures);
    return signatures;
  }
}

interface Source {
  readonly endpoint: string;
  /** '': none is sent. */
  readonly accessToken: string;
}

/** Returns where the claim is; undefined if the token has it itself, or nowhere. */
function sourceOf(claims: Claims, claim: string): Source | undefined {
  if (Object.hasOwn(claims, claim)) return undefined;
  const { _claim_names: names, _claim_sources: sources } = claims;
  if (names === undefined) return undefined;
  if (!isPlainObject(names) || Object.values(names).some((name) => typeof name !== 'string'))
    throw failure('oidc: error parsing distributed claim names');
  if (sources === undefined) throw failure('oidc: no claim sources');
  if (!isPlainObject(sources)) throw failure('oidc: could not parse claim sources');
  const name = getOwn(names, claim) as string | undefined;
  if (name === undefined) return undefined;
  const source = getOwn(sources, name);
  if (source === undefined)
    throw failure(`id token _claim_names contained a source ${name} missing in _claims_sources`);
  const { endpoint = '', access_token: accessToken = '' } = isPlainObject(source) ? source : {};
  if (!isPlainObject(source) || typeof endpoint !== 'string' || typeof accessToken !== 'string')
    throw failure('oidc: could not parse claim sources');
  // A claim within the token, in a token of its own, is left out, as upstream.
  return endpoint === '' ? undefined : { endpoint, accessToken };
}

const failure = (reason: string): ClaimError =>
  new ClaimError(`oidc: could not expand distributed claims: ${reason}`);
