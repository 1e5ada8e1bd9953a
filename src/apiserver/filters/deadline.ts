// No request but the long-running ones takes longer than the server allows: then it is aborted and answered 504. The due
// times of all requests are looked at once a second; a timer for each would cost more than most requests do.

import * as apierrors from '../../machinery/apierrors.ts';
import type { Clock, Timer } from '../../machinery/clock.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';
import { isLongRunning } from './request-info.ts';

export interface DeadlineConfig {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

interface Pending {
  readonly request: ApiRequest;
  readonly due: number;
  readonly reject: (error: unknown) => void;
}

const CHECK_INTERVAL_MS = 1000;

export class Deadlines {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #pending = new Set<Pending>();
  #timer: Timer | undefined;

  constructor(config: DeadlineConfig) {
    this.#clock = config.clock;
    this.#timeoutMs = config.timeoutMs;
  }

  readonly filter: Filter = (next) => (request) => {
    if (isLongRunning(request.info)) return next(request);
    return new Promise<ApiResponse>((resolve, reject) => {
      const pending: Pending = { request, due: this.#clock.monotonic() + this.#timeoutMs, reject };
      this.#pending.add(pending);
      this.#timer ??= this.#clock.setInterval(CHECK_INTERVAL_MS, () => this.#check());
      next(request).then(
        (response) => {
          this.#pending.delete(pending);
          resolve(response);
        },
        (error: unknown) => {
          this.#pending.delete(pending);
          reject(error);
        },
      );
    });
  };

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #check(): void {
    // An idle server has nothing to look at, and rests.
    if (this.#pending.size === 0) this.stop();
    const now = this.#clock.monotonic();
    for (const pending of this.#pending) {
      // Requests are here in the order in which they came, and all are given the same time.
      if (pending.due > now) return;
      this.#pending.delete(pending);
      const error = apierrors.timeoutError('request did not complete within the allotted timeout');
      pending.request.abort(error);
      pending.reject(error);
    }
  }
}
