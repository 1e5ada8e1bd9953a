// The session with the server: who is signed in, and the ways in and out.

import type { Clock, Timer } from '../../browser/clock.ts';
import type { Api } from './api.ts';
import { isNotFound, isUnauthorized } from './api-error.ts';
import { Store } from './store.ts';

export interface SessionInfo {
  readonly user: string;
  readonly groups?: readonly string[];
  /** When the session ends; absent if it does not end by itself. */
  readonly expires?: string;
  /** The same from now on: the clocks of browser and server may differ. */
  readonly expiresInSeconds?: number;
}

/** How users may sign in, beside a token. */
export interface SignInWays {
  readonly oidc?: { readonly issuer: string };
}

const PATH = '/console/session';
/** A session that ends so soon is announced, in ms; a short one after half of its time. */
const ANNOUNCED_MS = 5 * 60_000;

export class Session {
  readonly info = new Store<SessionInfo | undefined>(undefined);
  /** Whether the session is about to end. */
  readonly endsSoon = new Store(false);
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #onOtherUser: () => void;
  #announcing: Timer | undefined;

  /** `clock`: of the browser. `onOtherUser` is called before another user's session is published. */
  constructor(api: Api, clock: Clock, onOtherUser: () => void) {
    this.#api = api;
    this.#clock = clock;
    this.#onOtherUser = onOtherUser;
  }

  /** Reads the session. Returns false if there is none. */
  async read(): Promise<boolean> {
    try {
      const info = await this.#api.json<SessionInfo>(PATH, { withoutSession: true });
      if (info.user !== this.info.get()?.user) this.#onOtherUser();
      this.info.set(info);
      this.#planAnnouncement(info);
      return true;
    } catch (error) {
      if (isUnauthorized(error)) return false;
      if (!isNotFound(error)) throw error;
      // A proxy that adds the user's credentials itself.
      this.info.set({ user: '' });
      return true;
    }
  }

  /** Signs in with a token, or with the code of a one-time link. */
  async signIn(credential: { readonly token: string } | { readonly code: string }): Promise<void> {
    const options = {
      method: 'POST',
      body: credential,
      withoutSession: true,
      apart: true,
    } as const;
    await this.#api.request(PATH, options);
    await this.read();
  }

  /** Returns the ways in. A server without them accepts tokens only. */
  async ways(signal: AbortSignal): Promise<SignInWays> {
    try {
      return await this.#api.json<SignInWays>('/console/sign-in', { signal, withoutSession: true });
    } catch (error) {
      if (isNotFound(error)) return {};
      throw error;
    }
  }

  async signOut(): Promise<void> {
    await this.#api.request(PATH, { method: 'DELETE', withoutSession: true });
    this.info.set(undefined);
    this.#planAnnouncement({});
  }

  #planAnnouncement({ expiresInSeconds }: Partial<SessionInfo>): void {
    this.#announcing?.cancel();
    this.#announcing = undefined;
    this.endsSoon.set(false);
    if (expiresInSeconds === undefined) return;
    const leftMs = expiresInSeconds * 1000;
    this.#announcing = this.#clock.setTimer(leftMs - Math.min(ANNOUNCED_MS, leftMs / 2), () =>
      this.endsSoon.set(true),
    );
  }
}

/** Returns the code of a one-time link from the page's fragment; undefined if it has none. */
export const loginCode = (hash: string): string | undefined =>
  /^#login=([\w.~-]{8,512})$/.exec(hash)?.[1];

/** The server's reasons why a sign-in at the identity provider has failed, in words. */
const PROBLEMS: Readonly<Record<string, string>> = {
  'not-begun': 'This sign-in was not begun in this browser, or has taken too long. Try again.',
  denied: 'The identity provider has denied the sign-in.',
  'provider-unavailable': 'The identity provider does not answer. Try again later.',
  'provider-error': 'The sign-in at the identity provider has failed.',
  'not-accepted': 'The server does not accept the identity that the provider has confirmed.',
  'too-many': 'There were too many failed attempts to sign in. Wait a few seconds.',
};

/**
 * Returns why a sign-in at the identity provider has failed, from the page's fragment. Only the
 * sentences of this page are shown: anybody can make a link.
 */
export function signInProblem(hash: string): string | undefined {
  const [, reason] = /^#sign-in=([a-z-]{1,40})$/.exec(hash) ?? [];
  if (reason === undefined) return undefined;
  return PROBLEMS[Object.hasOwn(PROBLEMS, reason) ? reason : 'provider-error'];
}

/** Returns the address at which a sign-in at the provider begins, and comes back to the route. */
export const providerPath = (hash: string): string => {
  const route = /^#(\/.*)$/.exec(hash)?.[1] ?? '';
  return `/console/oidc/login?route=${encodeURIComponent(route)}`;
};
