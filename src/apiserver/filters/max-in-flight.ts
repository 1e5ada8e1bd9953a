// Limits the number of concurrent requests, separately for reads and writes. More requests wait;
// when too many wait, further ones are rejected with 429. For servers without priority and fairness
// (flow-control/). Long-running requests and those of system:masters do not count.

import * as apierrors from '#machinery/apierrors.ts';
import { Fifo } from '#machinery/collections/fifo.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';
import { isLongRunning } from './request-info.ts';

export const DEFAULT_READS = 400;
export const DEFAULT_WRITES = 200;

export interface MaxInFlightConfig {
  /** The maximum number of concurrent reads. Default: 400. */
  readonly maxReads?: number;
  /** The maximum number of concurrent writes. Default: 200. */
  readonly maxWrites?: number;
  /** The maximum number of waiting requests, for each of the two. Default: 10000. */
  readonly maxWaiting?: number;
}

export function maxInFlight(config: MaxInFlightConfig = {}): Filter {
  const reads = new Gate(config.maxReads ?? DEFAULT_READS, config.maxWaiting ?? 10_000);
  const writes = new Gate(config.maxWrites ?? DEFAULT_WRITES, config.maxWaiting ?? 10_000);
  return (next) => (request) => {
    const { info, user } = request;
    if (isLongRunning(info) || user?.groups.includes('system:masters') === true)
      return next(request);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    return (isRead ? reads : writes).pass(request, () => next(request));
  };
}

class Gate {
  readonly #limit: number;
  readonly #maxWaiting: number;
  #inFlight = 0;
  readonly #waiting = new Fifo<() => void>();

  constructor(limit: number, maxWaiting: number) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  async pass(request: ApiRequest, work: () => Promise<ApiResponse>): Promise<ApiResponse> {
    let waited = false;
    if (this.#inFlight >= this.#limit) {
      if (this.#waiting.length >= this.#maxWaiting) {
        throw apierrors.tooManyRequests('too many requests, please try again later', 1);
      }
      // The finished request passes its place on, so the count stays.
      waited = true;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#inFlight++;
    try {
      // The client may have disconnected, or the deadline may have passed, during the wait.
      if (waited && request.signal.aborted)
        throw apierrors.serviceUnavailable('the request ended while it waited');
      return await work();
    } finally {
      this.#leave();
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#inFlight--;
      return;
    }
    next();
  }
}
