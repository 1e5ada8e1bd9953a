// GET /console/oidc/login and /console/oidc/callback: a browser leaves for the provider, and returns.

import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type ConsoleRequest, type ConsoleResponse, expectMethod, PREFIX } from '../../http.ts';
import { cookieOf } from '../cookie.ts';
import type { Grant } from '../grant.ts';
import {
  OidcSignIn,
  type OidcSignInConfig,
  type OidcTokens,
  SIGN_IN_LIFE_MS,
  SignInError,
} from './sign-in.ts';

export const OIDC_PATHS = '/console/oidc/';
const LOGIN = `${OIDC_PATHS}login`;
const CALLBACK = `${OIDC_PATHS}callback`;

/** The cookie of a sign-in that was begun: unlike that of a session it has to come back from the provider. */
export const OIDC_COOKIE = '__Host-coxswain-console-oidc';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
const REMOVED = `${OIDC_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;
/** A sealed sign-in is shorter. */
const MAX_COOKIE = 4000;

export interface OidcPathsConfig extends OidcSignInConfig {
  /** Counts an attempt of a client's address. Throws TooManyRequests. */
  readonly attempt: (address: string) => void;
  /** Returns the grant of an ID token. Throws Unauthorized. */
  readonly grantOf: (token: string) => Promise<Grant>;
  /** Begins a session with the grant. Returns its Set-Cookie header. Throws Unauthorized. */
  readonly beginSession: (request: ConsoleRequest, grant: Grant) => string;
  /** Called with the reason of a sign-in, or of a renewal of its token, that has failed. */
  readonly onFailure: (reason: string) => void;
}

export class OidcPaths {
  readonly #config: OidcPathsConfig;
  readonly #signIn: OidcSignIn;

  constructor(config: OidcPathsConfig) {
    this.#config = config;
    this.#signIn = new OidcSignIn(config);
  }

  get issuer(): string {
    return this.#signIn.issuer;
  }

  async serve(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'GET');
    try {
      if (request.path === LOGIN) return await this.#login(request);
      if (request.path === CALLBACK) return await this.#callback(request);
    } catch (error) {
      return this.#failed(error);
    }
    throw apierrors.genericStatus(404);
  }

  async #login(request: ConsoleRequest): Promise<ConsoleResponse> {
    const { location, cookie } = await this.#signIn.begin(
      redirectUri(request),
      request.query.get('route') ?? '',
    );
    const maxAge = SIGN_IN_LIFE_MS / 1000;
    return redirect(location, `${OIDC_COOKIE}=${cookie}; ${ATTRIBUTES}; Max-Age=${maxAge}`);
  }

  async #callback(request: ConsoleRequest): Promise<ConsoleResponse> {
    this.#config.attempt(request.remoteAddress);
    const cookie = cookieOf(request.headers['cookie'], OIDC_COOKIE, MAX_COOKIE);
    const { route, ...tokens } = await this.#signIn.finish(cookie, request.query);
    const session = this.#config.beginSession(request, await this.#grantOf(tokens));
    return redirect(route === '' ? PREFIX : `${PREFIX}#${route}`, session, REMOVED);
  }

  /** Returns the grant of an ID token, which a refresh token renews. */
  async #grantOf({ token, refreshToken }: OidcTokens): Promise<Grant> {
    const grant = await this.#config.grantOf(token);
    if (refreshToken === undefined) return grant;
    return { ...grant, renew: () => this.#renew({ token, refreshToken }, grant) };
  }

  async #renew(tokens: Required<OidcTokens>, { user }: Grant): Promise<Grant | undefined> {
    try {
      const grant = await this.#grantOf(await this.#signIn.refresh(tokens));
      if (grant.user.name === user.name) return grant;
      this.#config.onFailure('the new ID token names another user');
    } catch (error) {
      const isFinal = error instanceof SignInError && error.problem !== 'provider-unavailable';
      this.#config.onFailure(`renewing an ID token: ${errorMessage(error)}`);
      if (!isFinal && !apierrors.isUnauthorized(error)) throw error;
    }
    return undefined;
  }

  /** The page shows why: the browser has followed a redirect, so no script waits for a status. */
  #failed(error: unknown): ConsoleResponse {
    const problem =
      error instanceof SignInError
        ? error.problem
        : apierrors.isUnauthorized(error)
          ? 'not-accepted'
          : apierrors.isTooManyRequests(error)
            ? 'too-many'
            : undefined;
    if (problem === undefined) throw error;
    this.#config.onFailure((error as Error).message);
    return redirect(`${PREFIX}#sign-in=${problem}`, REMOVED);
  }
}

/** Returns the address to which the provider sends the browser: of this server, as it was reached. */
function redirectUri({ headers }: ConsoleRequest): string {
  const host = headers['host'] ?? headers[':authority'] ?? '';
  const address = `https://${host}${CALLBACK}`;
  if (!URL.canParse(address) || new URL(address).host === '')
    throw apierrors.badRequest('the request names no host');
  return new URL(address).href;
}

const redirect = (location: string, ...cookies: readonly string[]): ConsoleResponse => ({
  code: 303,
  headers: {
    location,
    'set-cookie': cookies,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  },
  body: { kind: 'none' },
});
