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
/** The time between two sweeps at most, and at least: credentials may last for seconds only. */
const MAX_SWEEP_INTERVAL_MS = 15_000;
const MIN_SWEEP_INTERVAL_MS = 1000;
/** There are at least so many sweeps in the life of every credential that lasts for seconds. */
const SWEEPS_IN_LIFE = 8;
/** Credentials are renewed so long before they expire; short-lived ones after half of their life. */
const RENEWAL_BEFORE_MS = 120_000;

/** A request that lasts as long as its session at most: a watch, a log, an exec. */
interface Stream {
  abort(reason: unknown): void;
}

export class Session {
  readonly streams = new Set<Stream>();
  lastUsedMs: number;
  /** When the session ends at the latest, in wall-clock ms. */
  readonly #endsMs: number;
  #grant: Grant;
  /** When the credentials expire, in wall-clock ms. */
  #grantEndsMs: number;
  /** When the credentials are renewed. Infinity: they cannot be. */
  #renewalMs = Infinity;
  #renewing: Promise<void> | undefined;

  /** `lifeMs`: how long the session lasts at most; `grantLifeMs`: how long the credentials do. */
  constructor(grant: Grant, now: number, lifeMs: number, grantLifeMs: number) {
    this.lastUsedMs = now;
    this.#endsMs = now + lifeMs;
    this.#grant = grant;
    this.#grantEndsMs = now + grantLifeMs;
    this.#planRenewal(now);
  }

  get user(): User {
    return this.#grant.user;
  }

  get isValid(): Grant['isValid'] {
    return this.#grant.isValid;
  }

  /** When the session ends, in wall-clock ms: with its credentials, unless they are renewed. */
  get expiresMs(): number {
    return this.canRenew(this.lastUsedMs)
      ? this.#endsMs
      : Math.min(this.#endsMs, this.#grantEndsMs);
  }

  /** Reports whether the session, or the credentials that it has now, have expired. */
  hasExpired(now: number): boolean {
    return now >= Math.min(this.#endsMs, this.#grantEndsMs);
  }

  /** Reports whether later credentials can be had, also if the present ones have expired. */
  canRenew(now: number): boolean {
    return Number.isFinite(this.#renewalMs) && now < this.#endsMs;
  }

  /**
   * Renews the credentials if that is due; one renewal runs at a time. `lifeOf` returns how long a
   * grant lasts. Never rejects: a failed renewal is tried again as long as the credentials last.
   */
  renewIfDue(now: number, lifeOf: (grant: Grant) => number): Promise<void> {
    const { renew } = this.#grant;
    if (renew === undefined || now < this.#renewalMs || !this.canRenew(now))
      return Promise.resolve();
    this.#renewing ??= this.#renew(renew, now, lifeOf).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(
    renew: NonNullable<Grant['renew']>,
    now: number,
    lifeOf: (grant: Grant) => number,
  ): Promise<void> {
    let next: Grant | undefined;
    try {
      next = await renew();
    } catch {
      // The provider does not answer, which `renew` has reported. The session ends with its
      // credentials unless a later attempt succeeds.
      return;
    }
    if (next === undefined) {
      this.#renewalMs = Infinity;
      return;
    }
    this.#grant = next;
    this.#grantEndsMs = now + lifeOf(next);
    this.#planRenewal(now);
  }

  #planRenewal(now: number): void {
    const lifeMs = this.#grantEndsMs - now;
    this.#renewalMs =
      this.#grant.renew === undefined || !Number.isFinite(lifeMs)
        ? Infinity
        : this.#grantEndsMs - Math.min(RENEWAL_BEFORE_MS, lifeMs / 2);
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
  #sweepIntervalMs = Infinity;

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
    const lifeMs = this.#lifeOf(grant);
    const session = new Session(grant, this.#clock.now(), absoluteMs, lifeMs);
    const ofUser = [...this.#sessions].filter(([, { user }]) => user.name === grant.user.name);
    if (ofUser.length >= perUser) this.#end(ofUser[0]![0]);
    else if (this.#sessions.size >= sessions) this.#end(this.#sessions.keys().next().value!);
    const cookie = newSecret(this.#random);
    this.#sessions.set(digestOf(cookie), session);
    this.#sweepFor(lifeMs);
    return { cookie, session };
  }

  /** Returns the session of a cookie, which counts as used. Undefined: there is none any more. */
  async find(cookie: string): Promise<Session | undefined> {
    const key = digestOf(cookie);
    const session = this.#sessions.get(key);
    if (session === undefined) return undefined;
    // The process may have slept, so that no renewal was in time.
    if (session.hasExpired(this.#clock.now())) await this.#renewIfDue(session);
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

  /** Returns how long the credentials of a grant last, in ms. */
  #lifeOf({ expiresMs }: Grant): number {
    return expiresMs - this.#clusterClock.now();
  }

  #renewIfDue(session: Session): Promise<void> {
    if (this.#isIdle(session)) return Promise.resolve();
    return session.renewIfDue(this.#clock.now(), (grant) => {
      const lifeMs = this.#lifeOf(grant);
      this.#sweepFor(lifeMs);
      return lifeMs;
    });
  }

  /** Sweeps often enough for credentials with this life. */
  #sweepFor(lifeMs: number): void {
    const wanted = Math.min(
      MAX_SWEEP_INTERVAL_MS,
      Math.max(MIN_SWEEP_INTERVAL_MS, lifeMs / SWEEPS_IN_LIFE),
    );
    if (wanted >= this.#sweepIntervalMs) return;
    this.#timer?.cancel();
    this.#sweepIntervalMs = wanted;
    this.#timer = this.#clock.setInterval(wanted, () => this.#sweep());
  }

  #isOver(session: Session): boolean {
    return this.#isIdle(session) || session.hasExpired(this.#clock.now());
  }

  /** A session with an open watch is in use. */
  #isIdle({ streams, lastUsedMs }: Session): boolean {
    return streams.size === 0 && this.#clock.now() - lastUsedMs >= this.#limits.idleMs;
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
      this.#sweepIntervalMs = Infinity;
    }
  }

  #sweep(): void {
    for (const [key, session] of this.#sessions) {
      if (this.#isOver(session) && !session.canRenew(this.#clock.now())) this.#end(key);
      else void this.#renewOrEnd(key, session);
    }
  }

  /**
   * Renews the credentials if that is due. Ends a session whose token was revoked, so that its open
   * streams end, too.
   */
  async #renewOrEnd(key: string, session: Session): Promise<void> {
    await this.#renewIfDue(session);
    const valid = !this.#isOver(session) && (await session.isValid?.()) !== false;
    if (!valid && this.#sessions.get(key) === session) this.#end(key);
  }
}
