// Signing in and out: /console/session and /console/codes.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import {
  type ConsoleRequest,
  type ConsoleResponse,
  type ConsoleServices,
  expectMethod,
  json,
  jsonBody,
} from '../http.ts';
import { cookieOf, removingCookie, settingCookie } from './cookie.ts';
import { FailureLimit } from './failure-limit.ts';
import { type Grant, grantOfRequest, grantOfToken } from './grant.ts';
import { CODE_LIFE_MS, LoginCodes } from './login-codes.ts';
import { OidcPaths } from './oidc/oidc-paths.ts';
import type { OidcClient } from './oidc/sign-in.ts';
import { HEADER, isFromConsole } from './origin.ts';
import { type Session, type SessionLimits, Sessions } from './sessions.ts';

export const SESSION_PATH = '/console/session';
export const CODES_PATH = '/console/codes';
export const SIGN_IN_PATH = '/console/sign-in';

const MAX_CODE_LENGTH = 128;

export interface SessionPathsConfig {
  readonly clock: Clock;
  /** The clock by which credentials expire. */
  readonly clusterClock: Clock;
  readonly random: Random;
  readonly authenticate: ConsoleServices['authenticate'];
  readonly limits?: Partial<SessionLimits>;
  /** Absent: users do not sign in at an OpenID Connect provider. */
  readonly oidc?: OidcClient;
  /** Called with the reason of a sign-in at the provider, or of a renewal, that has failed. */
  readonly onFailure?: (reason: string) => void;
}

export class SessionPaths {
  readonly #config: SessionPathsConfig;
  readonly #sessions: Sessions;
  readonly #codes: LoginCodes;
  readonly #failures: FailureLimit;
  readonly #oidc: OidcPaths | undefined;

  constructor(config: SessionPathsConfig) {
    this.#config = config;
    this.#sessions = new Sessions(config);
    this.#codes = new LoginCodes(config);
    this.#failures = new FailureLimit(config.clock);
    const { clock, random, oidc, onFailure = () => undefined } = config;
    if (oidc !== undefined)
      this.#oidc = new OidcPaths({
        client: oidc,
        clock,
        random,
        onFailure,
        attempt: (address) => this.#attempt(address),
        grantOf: (token) => grantOfToken(config.authenticate, token),
        beginSession: (request, grant) => settingCookie(this.#begin(request, grant).cookie),
      });
  }

  /** Serves the paths of a sign-in at the provider. */
  async serveOidc(request: ConsoleRequest): Promise<ConsoleResponse> {
    if (this.#oidc === undefined) throw apierrors.genericStatus(404);
    return this.#oidc.serve(request);
  }

  /** Serves /console/sign-in: the ways in, for a page without a session. */
  serveSignIn(request: ConsoleRequest): ConsoleResponse {
    expectMethod(request, 'GET', 'HEAD');
    return json(this.#oidc === undefined ? {} : { oidc: { issuer: this.#oidc.issuer } });
  }

  /** Ends all sessions. */
  close(): void {
    this.#sessions.close();
  }

  /**
   * Returns the session of a request of the console's pages. Undefined: it has no valid one, or
   * another page made it.
   */
  async sessionOf(request: ConsoleRequest): Promise<Session | undefined> {
    const cookie = cookieOf(request.headers['cookie']);
    if (cookie === undefined || !isFromConsole(request)) return undefined;
    return this.#sessions.find(cookie);
  }

  /** Serves /console/session, without authentication before. */
  async serveSession(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'GET', 'HEAD', 'POST', 'DELETE');
    if (!isFromConsole(request))
      throw apierrors.forbidden({ group: '', resource: '' }, '', `the header ${HEADER} is missing`);
    const cookie = cookieOf(request.headers['cookie']);
    switch (request.method) {
      case 'POST':
        return this.#signIn(request);
      case 'DELETE':
        if (cookie !== undefined) this.#sessions.end(cookie);
        return json({}, { headers: { 'set-cookie': removingCookie() } });
      default: {
        const session = cookie === undefined ? undefined : await this.#sessions.find(cookie);
        if (session === undefined) throw apierrors.unauthorized('there is no session');
        return json(this.#describe(session));
      }
    }
  }

  async #signIn(request: ConsoleRequest): Promise<ConsoleResponse> {
    const body = await jsonBody(request, ['token', 'code']);
    this.#attempt(request.remoteAddress);
    const { cookie, session } = this.#begin(request, await this.#grantOf(body));
    return json(this.#describe(session), {
      code: 201,
      headers: { 'set-cookie': settingCookie(cookie) },
    });
  }

  /** Counts an attempt of an address. Throws TooManyRequests. */
  #attempt(address: string): void {
    const wait = this.#failures.attempt(address);
    if (wait > 0) throw apierrors.tooManyRequests('too many failed attempts to sign in', wait);
  }

  /** Begins the session of a grant, after an attempt. Throws Unauthorized. */
  #begin(request: ConsoleRequest, grant: Grant): ReturnType<Sessions['begin']> {
    if (grant.expiresMs <= this.#config.clusterClock.now())
      throw apierrors.unauthorized('the credentials have expired');
    this.#failures.succeeded(request.remoteAddress);
    // The value of the cookie is always new, so that one that was planted before is worth nothing.
    const before = cookieOf(request.headers['cookie']);
    if (before !== undefined) this.#sessions.end(before);
    return this.#sessions.begin(grant);
  }

  async #grantOf({ token, code }: Readonly<Record<string, unknown>>): Promise<Grant> {
    if (typeof token === 'string' && code === undefined)
      return grantOfToken(this.#config.authenticate, token.trim());
    if (typeof code === 'string' && token === undefined) {
      const grant = code.length <= MAX_CODE_LENGTH ? this.#codes.redeem(code) : undefined;
      if (grant === undefined || (await grant.isValid?.()) === false)
        throw apierrors.unauthorized('the code is unknown, used or expired');
      return grant;
    }
    throw apierrors.badRequest('the body must have a token or a code');
  }

  /** Serves /console/codes: a code for the user of the request. */
  async serveCodes(
    request: ConsoleRequest,
    user: ConsoleRequest['user'],
  ): Promise<ConsoleResponse> {
    expectMethod(request, 'POST');
    if (user === undefined) throw apierrors.unauthorized('Unauthorized');
    const grant = grantOfRequest(this.#config.authenticate, request, user);
    const { code, expiresMs } = this.#codes.create(grant);
    return json(
      {
        code,
        path: `/console/#login=${code}`,
        expires: new Date(expiresMs).toISOString(),
        expiresInSeconds: CODE_LIFE_MS / 1000,
      },
      { code: 201 },
    );
  }

  /** Returns the facts that a page gets of its session. */
  #describe({ user, expiresMs }: Session): object {
    return {
      user: user.name,
      groups: user.groups,
      expires: new Date(expiresMs).toISOString(),
      expiresInSeconds: Math.floor((expiresMs - this.#config.clock.now()) / 1000),
    };
  }
}
