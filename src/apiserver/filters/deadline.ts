// Aborts requests at their deadline with 504, except long-running ones. The deadline is the
// server's limit, or the client's shorter `?timeout=`. All deadlines are checked once a second,
// since a timer for each request would cost more than most requests do.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import { Link, LinkedList } from '#machinery/collections/linked-list.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';
import { isLongRunning } from './request-info.ts';

export interface DeadlineConfig {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

class Pending extends Link {
  readonly request: ApiRequest;
  readonly due: number;
  readonly reject: (error: unknown) => void;

  constructor(request: ApiRequest, due: number, reject: (error: unknown) => void) {
    super();
    this.request = request;
    this.due = due;
    this.reject = reject;
  }
}

const CHECK_INTERVAL_MS = 1000;

export class Deadlines {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #pending = new LinkedList<Pending>();
  #timer: Timer | undefined;

  constructor(config: DeadlineConfig) {
    this.#clock = config.clock;
    this.#timeoutMs = config.timeoutMs;
  }

  readonly filter: Filter = (next) => (request) => {
    if (isLongRunning(request.info)) return next(request);
    return new Promise<ApiResponse>((resolve, reject) => {
      const timeoutMs = Math.min(requestedTimeout(request) ?? this.#timeoutMs, this.#timeoutMs);
      const pending = new Pending(request, this.#clock.monotonic() + timeoutMs, reject);
      request.deadlineMs = pending.due;
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
    // An idle server has nothing to check, so the timer stops.
    if (this.#pending.size === 0) this.stop();
    const now = this.#clock.monotonic();
    for (const pending of this.#pending) {
      if (pending.due > now) continue;
      this.#pending.delete(pending);
      const error = apierrors.timeoutError('request did not complete within the allotted timeout');
      pending.request.abort(error);
      pending.reject(error);
    }
  }
}

/** Returns the client's timeout in ms. Undefined: the request has none. Throws BadRequest. */
function requestedTimeout({ query }: ApiRequest): number | undefined {
  if (query.size === 0) return undefined;
  const text = query.get('timeout');
  if (text === null || text === '') return undefined;
  let milliseconds: number;
  try {
    milliseconds = parseDuration(text);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw apierrors.badRequest(`invalid timeout specified in the request URL - ${error.message}`);
  }
  // As upstream: a timeout that is not positive counts as none.
  return milliseconds > 0 ? milliseconds : undefined;
}
