// The session with the server: who is signed in, and the ways in and out.

import type { Api } from './api.ts';
import { isNotFound, isUnauthorized } from './api-error.ts';
import { Store } from './store.ts';

export interface SessionInfo {
  readonly user: string;
  readonly groups?: readonly string[];
  /** When the session ends; absent if it does not end by itself. */
  readonly expires?: string;
}

const PATH = '/console/session';

export class Session {
  readonly info = new Store<SessionInfo | undefined>(undefined);
  readonly #api: Api;
  readonly #onOtherUser: () => void;

  /** `onOtherUser` is called before another user's session is published. */
  constructor(api: Api, onOtherUser: () => void) {
    this.#api = api;
    this.#onOtherUser = onOtherUser;
  }

  /** Reads the session. Returns false if there is none. */
  async read(): Promise<boolean> {
    try {
      const info = await this.#api.json<SessionInfo>(PATH);
      if (info.user !== this.info.get()?.user) this.#onOtherUser();
      this.info.set(info);
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
    await this.#api.request(PATH, { method: 'POST', body: credential });
    await this.read();
  }

  async signOut(): Promise<void> {
    await this.#api.request(PATH, { method: 'DELETE' });
    this.info.set(undefined);
  }
}

/** Returns the code of a one-time link from the page's fragment; undefined if it has none. */
export const loginCode = (hash: string): string | undefined =>
  /^#login=([\w.~-]{8,512})$/.exec(hash)?.[1];
