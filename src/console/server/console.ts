// The server's part of the console: a stage before authentication (pages, sessions), and paths
// behind authorization. It acts as the signed-in user only, and has no rights of its own.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import { Controls } from './api/controls.ts';
import { Timeline } from './api/timeline.ts';
import { Why } from './api/why.ts';
import type { ConsoleFeatures } from './features.ts';
import { StaticFiles } from './files/static-files.ts';
import {
  type ConsoleRequest,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  expectMethod,
  json,
  PREFIX,
} from './http.ts';
import { COOKIE, cookieOf } from './session/cookie.ts';
import { OIDC_COOKIE, OIDC_PATHS } from './session/oidc/oidc-paths.ts';
import type { OidcClient } from './session/oidc/sign-in.ts';
import { CODES_PATH, SESSION_PATH, SessionPaths, SIGN_IN_PATH } from './session/session-paths.ts';
import type { Session, SessionLimits } from './session/sessions.ts';
import { Traffic } from './traffic/traffic.ts';

export interface ConsoleConfig {
  /** The time of users: sessions and codes expire by it. */
  readonly clock: Clock;
  /** The time of the cluster, in which credentials expire. Default: `clock`. */
  readonly clusterClock?: Clock;
  /** The source of session cookies and codes: the system's, outside of tests. */
  readonly random: Random;
  /** The folder of the built web application. */
  readonly folder: string;
  /** The version of the program, for pages. */
  readonly version: string;
  readonly features?: ConsoleFeatures;
  readonly sessionLimits?: Partial<SessionLimits>;
  /** Absent: users do not sign in at an OpenID Connect provider. */
  readonly oidc?: OidcClient;
  /** Called with the reason of a sign-in at the provider that has failed. Default: ignored. */
  readonly onSignInFailure?: (reason: string) => void;
}

const API = '/console/api/';

type Serve = (request: ConsoleRequest) => ConsoleResponse | Promise<ConsoleResponse>;

/** The responses of the API server that the console handles: its own, and any other one. */
interface AnyResponse {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body: { readonly kind: string };
}

export class Console {
  readonly #config: ConsoleConfig;
  readonly #services: ConsoleServices;
  readonly #sessions: SessionPaths;
  readonly #files: StaticFiles;
  readonly #traffic: Traffic;
  /** By the path below /console/api/. */
  readonly #api: ReadonlyMap<string, Serve>;
  /** Requests that a session's cookie authenticated. */
  readonly #ofSessions = new WeakSet<ConsoleRequest>();

  constructor(config: ConsoleConfig, services: ConsoleServices) {
    const { clock, clusterClock = clock, random, folder, features = {} } = config;
    const { signal, authenticate } = services;
    this.#config = config;
    this.#services = services;
    this.#sessions = new SessionPaths({
      clock,
      clusterClock,
      random,
      authenticate,
      ...(config.sessionLimits !== undefined && { limits: config.sessionLimits }),
      ...(config.oidc !== undefined && { oidc: config.oidc }),
      ...(config.onSignInFailure !== undefined && { onFailure: config.onSignInFailure }),
    });
    this.#files = new StaticFiles({ folder, random });
    this.#traffic = new Traffic({ clock, signal });
    signal.addEventListener('abort', () => this.#sessions.close(), { once: true });
    this.#api = this.#paths(features);
  }

  #paths(features: ConsoleFeatures): ReadonlyMap<string, Serve> {
    const { clock, clusterClock = clock } = this.#config;
    const { verdicts, decisions, controls } = features;
    const clientOf: ConsoleServices['clientOf'] = (user, userAgent) =>
      this.#services.clientOf(user, userAgent);
    const timeline = new Timeline({ clock, clientOf });
    const why = new Why({
      clock: clusterClock,
      clientOf,
      ...(verdicts !== undefined && { verdicts }),
    });
    const paths = new Map<string, Serve>([
      ['features', (request) => this.#serveFeatures(request)],
      ['why', (request) => why.serve(request)],
      ['timeline', (request) => timeline.serve(request)],
      ['traffic', (request) => this.#traffic.serve(request)],
    ]);
    if (decisions !== undefined)
      paths.set('scheduler', async (request) => {
        expectMethod(request, 'GET');
        return json({ decisions: await decisions() });
      });
    if (controls !== undefined) {
      const served = new Controls(controls);
      paths.set('clock', (request) => served.serveClock(request));
      if (served.canFork) paths.set('forks', (request) => served.serveForks(request));
    }
    return paths;
  }

  #serveFeatures(request: ConsoleRequest): ConsoleResponse {
    expectMethod(request, 'GET');
    const features = [...this.#api.keys()].filter((name) => name !== 'features');
    return json({ version: this.#config.version, features });
  }

  /** The paths behind authentication and authorization. */
  get routes(): readonly ConsoleRoute[] {
    return [
      {
        handles: (path) => path === CODES_PATH,
        handle: (request) => {
          // Otherwise a session could prolong itself.
          if (this.#ofSessions.has(request))
            throw apierrors.forbidden(
              { group: '', resource: '' },
              '',
              'a session of the console cannot create login codes',
            );
          return this.#sessions.serveCodes(request, request.user);
        },
      },
      {
        handles: (path) => path.startsWith(API),
        handle: async (request) => {
          const serve = this.#api.get(request.path.slice(API.length));
          if (serve === undefined) throw apierrors.genericStatus(404);
          return serve(request);
        },
      },
    ];
  }

  /**
   * Serves the paths that need no user, and finds the users of sessions. `next`: the rest of the
   * handler chain.
   */
  handle<R extends AnyResponse>(
    request: ConsoleRequest,
    next: () => Promise<R>,
  ): Promise<R | ConsoleResponse> {
    // The common cases pay for no more than counting.
    if (request.user !== undefined)
      return next().then((response) => this.#traffic.count(request, response, true));
    const isOwn = request.path.startsWith('/console');
    if (!isOwn && request.headers['cookie'] === undefined)
      return next().then((response) =>
        this.#traffic.count(request, withoutForeignCookie(response), false),
      );
    return this.#handle(request, next);
  }

  async #handle<R extends AnyResponse>(
    request: ConsoleRequest,
    next: () => Promise<R>,
  ): Promise<R | ConsoleResponse> {
    const { path } = request;
    if (path === SESSION_PATH) {
      request.keepsConnection = true;
      return this.#sessions.serveSession(request);
    }
    if (path === SIGN_IN_PATH) return this.#sessions.serveSignIn(request);
    if (path.startsWith(OIDC_PATHS)) return this.#sessions.serveOidc(request);
    const session = await this.#signIn(request);
    if (path === PREFIX.slice(0, -1))
      return { code: 308, headers: { location: PREFIX }, body: { kind: 'none' } };
    if (path.startsWith(PREFIX) && path !== CODES_PATH && !path.startsWith(API)) {
      request.keepsConnection = true;
      return this.#files.serve(request);
    }
    const response = withoutForeignCookie(await next());
    if (session !== undefined) follow(session, request, response);
    return this.#traffic.count(request, response, false);
  }

  /**
   * Sets the user of a request that a session authenticates. The cookie is removed from every
   * request, so that no other server gets it.
   */
  async #signIn(request: ConsoleRequest): Promise<Session | undefined> {
    if (request.headers['cookie'] === undefined) return undefined;
    const hasSession = cookieOf(request.headers['cookie']) !== undefined;
    // Explicit credentials count more.
    const session =
      hasSession && request.headers['authorization'] === undefined
        ? await this.#sessions.sessionOf(request)
        : undefined;
    request.dropCookie(COOKIE);
    request.dropCookie(OIDC_COOKIE);
    if (session === undefined) return undefined;
    request.user = session.user;
    this.#ofSessions.add(request);
    return session;
  }
}

/** Ends a response that lasts (a watch, a log, an exec) with its session. */
function follow(session: Session, request: ConsoleRequest, { body }: AnyResponse): void {
  if (body.kind !== 'watch' && body.kind !== 'stream' && body.kind !== 'taken') return;
  session.streams.add(request);
  request.signal.addEventListener('abort', () => session.streams.delete(request), { once: true });
}

/** Returns the response of another server without cookies that would replace the console's. */
function withoutForeignCookie<R extends AnyResponse>(response: R): R {
  const { 'set-cookie': sent, ...headers } = response.headers ?? {};
  if (sent === undefined) return response;
  // The names of the console's other cookies begin with this one.
  const kept = [sent].flat().filter((text) => !text.includes(COOKIE));
  return { ...response, headers: kept.length === 0 ? headers : { ...headers, 'set-cookie': kept } };
}
