// How many requests are worked on at a time: some for reads, some for writes; more wait their turn, and when too many wait,
// the rest are sent away for a moment. The place of priority and fairness. Long-running requests and those of system:masters
// do not count.

import * as apierrors from '#machinery/apierrors.ts';
import { Fifo } from '#machinery/collections/fifo.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';
import { isLongRunning } from './request-info.ts';

export interface MaxInFlightConfig {
  /** Default: 400. */
  readonly maxReads?: number;
  /** Default: 200. */
  readonly maxWrites?: number;
  /** How many may wait, of each. Default: 10000. */
  readonly maxWaiting?: number;
}

export function maxInFlight(config: MaxInFlightConfig = {}): Filter {
  const reads = new Gate(config.maxReads ?? 400, config.maxWaiting ?? 10_000);
  const writes = new Gate(config.maxWrites ?? 200, config.maxWaiting ?? 10_000);
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
      // The request that leaves hands its place over, so the count stays.
      waited = true;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#inFlight++;
    try {
      // Its client may have left, or its time be over, while it waited.
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
