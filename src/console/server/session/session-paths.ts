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
import { HEADER, isFromConsole } from './origin.ts';
import { type Session, type SessionLimits, Sessions } from './sessions.ts';

export const SESSION_PATH = '/console/session';
export const CODES_PATH = '/console/codes';

const MAX_CODE_LENGTH = 128;

export interface SessionPathsConfig {
  readonly clock: Clock;
  /** The clock by which credentials expire. */
  readonly clusterClock: Clock;
  readonly random: Random;
  readonly authenticate: ConsoleServices['authenticate'];
  readonly limits?: Partial<SessionLimits>;
}

export class SessionPaths {
  readonly #config: SessionPathsConfig;
  readonly #sessions: Sessions;
  readonly #codes: LoginCodes;
  readonly #failures: FailureLimit;

  constructor(config: SessionPathsConfig) {
    this.#config = config;
    this.#sessions = new Sessions(config);
    this.#codes = new LoginCodes(config);
    this.#failures = new FailureLimit(config.clock);
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
        return this.#signIn(request, cookie);
      case 'DELETE':
        if (cookie !== undefined) this.#sessions.end(cookie);
        return json({}, { headers: { 'set-cookie': removingCookie() } });
      default: {
        const session = cookie === undefined ? undefined : await this.#sessions.find(cookie);
        if (session === undefined) throw apierrors.unauthorized('there is no session');
        return json(describe(session));
      }
    }
  }

  async #signIn(request: ConsoleRequest, before: string | undefined): Promise<ConsoleResponse> {
    const { remoteAddress } = request;
    const body = await jsonBody(request, ['token', 'code']);
    const wait = this.#failures.attempt(remoteAddress);
    if (wait > 0) throw apierrors.tooManyRequests('too many failed attempts to sign in', wait);
    const grant = await this.#grantOf(body);
    if (grant.expiresMs <= this.#config.clusterClock.now())
      throw apierrors.unauthorized('the credentials have expired');
    this.#failures.succeeded(remoteAddress);
    // The value of the cookie is always new, so that one that was planted before is worth nothing.
    if (before !== undefined) this.#sessions.end(before);
    const { cookie, session } = this.#sessions.begin(grant);
    return json(describe(session), {
      code: 201,
      headers: { 'set-cookie': settingCookie(cookie) },
    });
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
}

/** Returns the facts that a page gets of its session. */
function describe({ user, expiresMs }: Session): object {
  return {
    user: user.name,
    groups: user.groups,
    expires: new Date(expiresMs).toISOString(),
  };
}
