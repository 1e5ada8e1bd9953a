// The sessions of signed-in users, in memory: they end with the process.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { User } from '../http.ts';
import type { Grant } from './grant.ts';
import { digestOf, newSecret } from './secrets.ts';

export interface SessionLimits {
  /** A session ends after this time without a request, in ms. Default: two hours. */
  readonly idleMs: number;
  /** A session ends after this time in any case, in ms. Default: 12 hours. */
  readonly absoluteMs: number;
  /** Further sessions end the one that was used least recently. Default: 1000. */
  readonly sessions: number;
  /** The same for the sessions of one user. Default: 20. */
  readonly perUser: number;
}

const DEFAULTS: SessionLimits = {
  idleMs: 2 * 3_600_000,
  absoluteMs: 12 * 3_600_000,
  sessions: 1000,
  perUser: 20,
};
const SWEEP_INTERVAL_MS = 15_000;

/** A request that lasts as long as its session at most: a watch, a log, an exec. */
interface Stream {
  abort(reason: unknown): void;
}

export class Session {
  readonly user: User;
  /** When the session ends at the latest, in wall-clock ms. */
  readonly expiresMs: number;
  readonly isValid: (() => Promise<boolean>) | undefined;
  readonly streams = new Set<Stream>();
  lastUsedMs: number;

  constructor(grant: Grant, now: number, lifeMs: number) {
    this.user = grant.user;
    this.isValid = grant.isValid;
    this.expiresMs = now + lifeMs;
    this.lastUsedMs = now;
  }
}

export interface SessionsConfig {
  readonly clock: Clock;
  /** The clock by which grants expire. */
  readonly clusterClock: Clock;
  readonly random: Random;
  readonly limits?: Partial<SessionLimits>;
}

const ENDED = new Error('the session of the console has ended');

export class Sessions {
  readonly #clock: Clock;
  readonly #clusterClock: Clock;
  readonly #random: Random;
  readonly #limits: SessionLimits;
  /** By the digest of the cookie's value, least recently used first. */
  readonly #sessions = new Map<string, Session>();
  /** Ends expired sessions, as long as there are sessions. */
  #timer: Timer | undefined;

  constructor({ clock, clusterClock, random, limits }: SessionsConfig) {
    this.#clock = clock;
    this.#clusterClock = clusterClock;
    this.#random = random;
    this.#limits = { ...DEFAULTS, ...limits };
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Starts a session. Returns it with the value of its cookie, which is not kept. */
  begin(grant: Grant): { readonly cookie: string; readonly session: Session } {
    const { sessions, perUser, absoluteMs } = this.#limits;
    const lifeMs = Math.min(absoluteMs, grant.expiresMs - this.#clusterClock.now());
    const session = new Session(grant, this.#clock.now(), lifeMs);
    const ofUser = [...this.#sessions].filter(([, { user }]) => user.name === grant.user.name);
    if (ofUser.length >= perUser) this.#end(ofUser[0]![0]);
    else if (this.#sessions.size >= sessions) this.#end(this.#sessions.keys().next().value!);
    const cookie = newSecret(this.#random);
    this.#sessions.set(digestOf(cookie), session);
    this.#timer ??= this.#clock.setInterval(SWEEP_INTERVAL_MS, () => this.#sweep());
    return { cookie, session };
  }

  /** Returns the session of a cookie, which counts as used. Undefined: there is none any more. */
  async find(cookie: string): Promise<Session | undefined> {
    const key = digestOf(cookie);
    const session = this.#sessions.get(key);
    if (session === undefined) return undefined;
    const valid = !this.#isOver(session) && (await session.isValid?.()) !== false;
    // It may have ended in the meantime.
    if (this.#sessions.get(key) !== session) return undefined;
    if (!valid) {
      this.#end(key);
      return undefined;
    }
    session.lastUsedMs = this.#clock.now();
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    return session;
  }

  /** Ends the session of a cookie, and its open streams. */
  end(cookie: string): void {
    this.#end(digestOf(cookie));
  }

  /** Ends all sessions. */
  close(): void {
    for (const key of this.#sessions.keys()) this.#end(key);
  }

  #isOver(session: Session): boolean {
    const now = this.#clock.now();
    // A session with an open watch is in use.
    const isIdle = session.streams.size === 0 && now - session.lastUsedMs >= this.#limits.idleMs;
    return isIdle || now >= session.expiresMs;
  }

  #end(key: string): void {
    const session = this.#sessions.get(key);
    if (session === undefined) return;
    this.#sessions.delete(key);
    for (const stream of session.streams) stream.abort(ENDED);
    session.streams.clear();
    if (this.#sessions.size === 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
    }
  }

  #sweep(): void {
    for (const [key, session] of this.#sessions) {
      if (this.#isOver(session)) this.#end(key);
      else void this.#endIfInvalid(key, session);
    }
  }

  /** Ends a session whose token was revoked, so that its open streams end, too. */
  async #endIfInvalid(key: string, session: Session): Promise<void> {
    const valid = await session.isValid?.();
    if (valid === false && this.#sessions.get(key) === session) this.#end(key);
  }
}
