// When the parts of a copied cluster begin: the API server with the first request, everything else
// when something can happen.

import * as apierrors from '#machinery/apierrors.ts';
import type { WakingClock } from './waking-clock.ts';

export interface Sleeper {
  beginServer(): Promise<void>;
  /** After beginServer(). */
  beginComponents(): Promise<void>;
}

const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Reads that components answer, not the store. */
const OF_COMPONENTS = /\/(log|proxy|componentstatuses|metrics|readyz|healthz|livez)(\/|$)/;
/**
 * Times that nothing has happened on the clock before it is moved by a millisecond: a start waits
 * for no time, as a rule.
 */
const PATIENCE = 100;

export class Awakening {
  readonly #clock: WakingClock;
  readonly #readOnlyAt: number | undefined;
  readonly #sleeper: Sleeper;
  #server: Promise<void> | undefined;
  #all: Promise<void> | undefined;
  #isAwake = false;

  /** `readOnlyAt`: only the server begins, and requests that write are rejected. */
  constructor(clock: WakingClock, readOnlyAt: number | undefined, sleeper: Sleeper) {
    this.#clock = clock;
    this.#readOnlyAt = readOnlyAt;
    this.#sleeper = sleeper;
  }

  /**
   * Resolves when the request can be served. Rejects with StatusError (MethodNotAllowed) for a
   * write to what can only be read.
   */
  beforeRequest(method: string, path: string): Promise<void> | undefined {
    if (this.#isAwake) return undefined;
    if (READ_METHODS.has(method) && !OF_COMPONENTS.test(path)) return this.#beginServer();
    return this.all();
  }

  /** Resolves when everything runs. */
  all(): Promise<void> {
    if (this.#readOnlyAt !== undefined) return Promise.reject(readOnly(this.#readOnlyAt));
    this.#all ??= this.#complete(this.#beginAll());
    return this.#all;
  }

  async #beginAll(): Promise<void> {
    await this.#beginServer();
    await this.#sleeper.beginComponents();
    this.#isAwake = true;
  }

  #beginServer(): Promise<void> {
    this.#server ??= this.#complete(this.#sleeper.beginServer());
    return this.#server;
  }

  /** Waits, and lets time pass only if nothing else helps. */
  async #complete(start: Promise<void>): Promise<void> {
    const state = { done: false };
    const settled = (): void => void (state.done = true);
    start.then(settled, settled);
    for (let quiet = 1; !state.done; quiet++) {
      await this.#clock.settle();
      if (quiet % PATIENCE === 0) await this.#clock.tick(1);
    }
    return start;
  }
}

function readOnly(revision: number): apierrors.StatusError {
  return apierrors.fromStatus({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'MethodNotAllowed',
    message:
      `this is the cluster as it was at revision ${revision}, which can only be read by its client: ` +
      'to go on from a moment, fork() or checkpoint() the cluster then',
    code: 405,
  });
}
