// Whether the server answers and whether the session is valid. While the server does not answer,
// a probe looks for it; everything that waits continues once it answers again.

import { type Clock, sleep } from '../../browser/clock.ts';
import type { ApiObserver } from './api.ts';
import { Store } from './store.ts';

export type ConnectionState =
  | { readonly kind: 'online' }
  | { readonly kind: 'offline'; readonly sinceMs: number; readonly retryAtMs: number }
  /** The session has ended; `expired` tells it from a page that was opened without one. */
  | { readonly kind: 'signed-out'; readonly expired: boolean };

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

export class Connection implements ApiObserver {
  readonly state = new Store<ConnectionState>({ kind: 'online' });
  readonly #clock: Clock;
  readonly #probe: () => Promise<void>;
  #probing = false;
  #hadSession = false;
  #session = 0;

  /** `probe` sends a cheap request; its result reaches the connection as any other. */
  constructor(clock: Clock, probe: () => Promise<void>) {
    this.#clock = clock;
    this.#probe = probe;
  }

  get session(): number {
    return this.#session;
  }

  get sessionEnded(): boolean {
    return this.state.get().kind === 'signed-out';
  }

  answered(code: number, session: number): void {
    if (code === 401) {
      // The answer to a request of the last session may come after the next sign-in.
      if (session === this.#session && this.state.get().kind !== 'signed-out')
        this.state.set({ kind: 'signed-out', expired: this.#hadSession });
      return;
    }
    // Gateways in front of a server that is away.
    if (code === 502 || code === 504) {
      this.unreachable();
      return;
    }
    if (this.state.get().kind === 'offline') this.state.set({ kind: 'online' });
  }

  unreachable(): void {
    if (this.state.get().kind === 'signed-out') return;
    if (this.state.get().kind !== 'offline') {
      const now = this.#clock.now();
      this.state.set({ kind: 'offline', sinceMs: now, retryAtMs: now + FIRST_RETRY_MS });
    }
    if (!this.#probing) void this.#lookForServer();
  }

  signedIn(): void {
    this.#session++;
    this.#hadSession = true;
    this.state.set({ kind: 'online' });
  }

  signedOut(): void {
    this.#hadSession = false;
    this.state.set({ kind: 'signed-out', expired: false });
  }

  /** Resolves when the server answers and the session is valid. */
  async whenOnline(signal: AbortSignal): Promise<void> {
    while (this.state.get().kind !== 'online') {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        const done = (): void => {
          unsubscribe();
          signal.removeEventListener('abort', done);
          resolve();
        };
        const unsubscribe = this.state.subscribe(done);
        signal.addEventListener('abort', done, { once: true });
      });
    }
    signal.throwIfAborted();
  }

  async #lookForServer(): Promise<void> {
    this.#probing = true;
    let delayMs = FIRST_RETRY_MS;
    for (;;) {
      const state = this.state.get();
      if (state.kind !== 'offline') break;
      this.state.set({ ...state, retryAtMs: this.#clock.now() + delayMs });
      await sleep(this.#clock, delayMs);
      delayMs = Math.min(delayMs * 2, MAX_RETRY_MS);
      await this.#probe();
    }
    this.#probing = false;
  }
}
