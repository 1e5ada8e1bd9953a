// Signing in at an OpenID Connect provider: the authorization code flow with PKCE (RFC 7636). The
// browser is sent to the provider with a state, a nonce and a challenge; the code with which it
// returns is redeemed for an ID token, which the API server authenticates as any bearer token. If
// the provider also returns a refresh token, it is redeemed for another ID token before that one
// expires.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '#machinery/clock.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { OidcProvider } from '#machinery/net/oidc/provider.ts';
import type { Random } from '#machinery/random.ts';
import { newSecret } from '../secrets.ts';
import { Sealer } from './sealed.ts';

/** The console as a client of a provider. */
export interface OidcClient {
  readonly provider: Pick<OidcProvider, 'issuer' | 'metadata' | 'post'>;
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret?: string;
  readonly scopes: readonly string[];
}

/** How long a user may take at the provider, in ms. */
export const SIGN_IN_LIFE_MS = 10 * 60_000;
/** Routes of the page are shorter. */
const MAX_ROUTE = 500;

/** The state that the browser keeps between the two steps, sealed. */
interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** The route of the page to return to; empty: the first page. */
  readonly route: string;
  readonly expiresMs: number;
}

/** The reasons why a sign-in ends without a session. The page has a sentence for each. */
export type SignInProblem =
  | 'not-begun'
  | 'denied'
  | 'provider-unavailable'
  | 'provider-error'
  | 'not-accepted'
  | 'too-many';

/** The tokens of a provider. */
export interface OidcTokens {
  /** The ID token, whose signature is not verified. */
  readonly token: string;
  /** Absent: the provider gives no further ID tokens without the user. */
  readonly refreshToken?: string;
}

export class SignInError extends Error {
  readonly problem: SignInProblem;

  constructor(problem: SignInProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

export interface OidcSignInConfig {
  readonly client: OidcClient;
  readonly clock: Clock;
  readonly random: Random;
}

export class OidcSignIn {
  readonly #config: OidcSignInConfig;
  readonly #sealer: Sealer;

  constructor(config: OidcSignInConfig) {
    this.#config = config;
    this.#sealer = new Sealer(config.random);
  }

  get issuer(): string {
    return this.#config.client.provider.issuer;
  }

  /**
   * Returns the provider's address for the browser, and the value of a cookie. `redirectUri`: where
   * the provider sends the browser afterwards. Throws SignInError.
   */
  async begin(
    redirectUri: string,
    route: string,
  ): Promise<{ readonly location: string; readonly cookie: string }> {
    const { client, random, clock } = this.#config;
    const { authorizationEndpoint } = await this.#metadata();
    if (authorizationEndpoint === undefined)
      throw new SignInError('provider-error', `${this.issuer} has no authorization_endpoint`);
    const begun: Begun = {
      state: newSecret(random),
      nonce: newSecret(random),
      verifier: newSecret(random),
      redirectUri,
      route: isRoute(route) ? route : '',
      expiresMs: clock.now() + SIGN_IN_LIFE_MS,
    };
    const location = new URL(authorizationEndpoint);
    const parameters = {
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: redirectUri,
      scope: client.scopes.join(' '),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: createHash('sha256').update(begun.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      // Required with this scope (OpenID Connect Core, 11).
      ...(client.scopes.includes('offline_access') && { prompt: 'consent' }),
    };
    for (const [name, value] of Object.entries(parameters)) location.searchParams.set(name, value);
    return { location: location.href, cookie: this.#sealer.seal(JSON.stringify(begun)) };
  }

  /**
   * Redeems the code with which a browser returns. `cookie`: of `begin`. Returns the tokens, and the
   * route to return to. Throws SignInError.
   */
  async finish(
    cookie: string | undefined,
    query: URLSearchParams,
  ): Promise<OidcTokens & { readonly route: string }> {
    const begun = this.#begunOf(cookie);
    if (begun === undefined || !isEqual(query.get('state') ?? '', begun.state))
      throw new SignInError('not-begun', 'this browser has not begun the sign-in, or too long ago');
    // RFC 9207: a code of another provider must not be sent to this one.
    const issuer = query.get('iss');
    if (issuer !== null && issuer !== this.issuer)
      throw new SignInError('provider-error', 'the response is of another issuer');
    const error = query.get('error');
    if (error !== null) {
      const problem = error === 'access_denied' ? 'denied' : 'provider-error';
      throw new SignInError(problem, `the provider answers ${JSON.stringify(error.slice(0, 100))}`);
    }
    const code = query.get('code') ?? '';
    if (code === '') throw new SignInError('provider-error', 'the provider sends no code');
    const tokens = await this.#redeem({
      grant_type: 'authorization_code',
      code,
      redirect_uri: begun.redirectUri,
      code_verifier: begun.verifier,
    });
    // A token of another sign-in may be stolen.
    const nonce = claimsOf(tokens.token)?.['nonce'];
    if (typeof nonce !== 'string' || !isEqual(nonce, begun.nonce))
      throw new SignInError('not-accepted', 'the ID token has another nonce');
    return { ...tokens, route: begun.route };
  }

  /**
   * Redeems a refresh token for the next tokens of the same user. A provider that returns no new
   * refresh token leaves the last one valid. Throws SignInError: 'provider-unavailable' if the
   * provider does not answer, another problem if it refuses.
   */
  async refresh({ token, refreshToken }: Required<OidcTokens>): Promise<Required<OidcTokens>> {
    const next = await this.#redeem({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      scope: this.#config.client.scopes.join(' '),
    });
    const [before, after] = [claimsOf(token), claimsOf(next.token)];
    if (typeof after?.['sub'] !== 'string' || after['sub'] !== before?.['sub'])
      throw new SignInError('not-accepted', 'the new ID token is of another user');
    return { refreshToken, ...next };
  }

  #begunOf(cookie: string | undefined): Begun | undefined {
    const text = cookie === undefined ? undefined : this.#sealer.open(cookie);
    if (text === undefined) return undefined;
    const begun = JSON.parse(text) as Begun;
    return begun.expiresMs > this.#config.clock.now() ? begun : undefined;
  }

  /** Sends a grant to the token endpoint. */
  async #redeem(grant: Readonly<Record<string, string>>): Promise<OidcTokens> {
    const { client } = this.#config;
    const { tokenEndpoint, tokenAuthMethods } = await this.#metadata();
    if (tokenEndpoint === undefined)
      throw new SignInError('provider-error', `${this.issuer} has no token_endpoint`);
    const form = new URLSearchParams({ ...grant, client_id: client.clientId });
    const headers: Record<string, string> = {};
    if (client.clientSecret !== undefined) {
      if (tokenAuthMethods.includes('client_secret_basic'))
        headers['authorization'] = basic(client.clientId, client.clientSecret);
      else form.set('client_secret', client.clientSecret);
    }
    const { status, json } = await unavailable(client.provider.post(tokenEndpoint, form, headers));
    const { id_token: token, refresh_token: refreshToken } = isPlainObject(json) ? json : {};
    // A provider that fails may work again a moment later.
    if (status >= 500)
      throw new SignInError('provider-unavailable', `the token endpoint answers with ${status}`);
    if (status !== 200 || typeof token !== 'string') {
      const reason = isPlainObject(json) ? JSON.stringify(json['error']) : 'no JSON';
      throw new SignInError(
        'provider-error',
        `the token endpoint answers with status ${status}, ${reason}`,
      );
    }
    return { token, ...(typeof refreshToken === 'string' && { refreshToken }) };
  }

  #metadata(): ReturnType<OidcProvider['metadata']> {
    return unavailable(this.#config.client.provider.metadata());
  }
}

async function unavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw new SignInError('provider-unavailable', (error as Error).message, { cause: error });
  }
}

/** Reports whether a text is the fragment of a page: nothing else is redirected to. */
const isRoute = (text: string): boolean =>
  text.length <= MAX_ROUTE && /^\/[\w./~%=&?:,-]*$/.test(text) && !text.startsWith('//');

/** Returns the header of RFC 6749, 2.3.1: both parts are encoded first. */
function basic(id: string, secret: string): string {
  const encoded = (text: string): string => encodeURIComponent(text).replaceAll('%20', '+');
  return `Basic ${Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString('base64')}`;
}

function isEqual(a: string, b: string): boolean {
  const [x, y] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(x!, y!);
}

function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const [, payload = ''] = token.split('.', 2);
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return isPlainObject(claims) ? claims : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
