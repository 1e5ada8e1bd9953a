// The filter of priority and fairness. Every request is classified, and waits until its priority
// level has seats for it, or is rejected with 429.
//
// Requests of components in this process wait as long as they have to: they are never rejected,
// because nothing is gained by trying again. Long-running requests take no seats, except watches
// until they have begun.

import { fnv64a } from '#machinery/text/hash.ts';
import { isLongRunning } from '../filters/request-info.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';
import { distinguisherOf } from './classifier.ts';
import type { Flow } from './flow.ts';
import type { FlowControl } from './flow-control.ts';
import { type Rejection, Waiting } from './priority-level.ts';
import { RetryAfter } from './retry-after.ts';
import { WorkEstimator } from './work-estimate.ts';

/** The longest wait of a request without a deadline, in ms. */
const DEFAULT_WAIT_MS = 15_000;
/** The longest wait of any request, in ms. */
const MAX_WAIT_MS = 60_000;

export function flowControlFilter(control: FlowControl): Filter {
  return (next) => {
    const gate = new Gate(control, next);
    return (request) => gate.pass(request);
  };
}

class Gate {
  readonly #control: FlowControl;
  readonly #next: (request: ApiRequest) => Promise<ApiResponse>;
  readonly #estimator = new WorkEstimator();
  /** By priority level. */
  readonly #retryAfter = new Map<string, RetryAfter>();

  constructor(control: FlowControl, next: (request: ApiRequest) => Promise<ApiResponse>) {
    this.#control = control;
    this.#next = next;
  }

  pass(request: ApiRequest): Promise<ApiResponse> {
    const { info } = request;
    if (info.verb !== 'watch' && isLongRunning(info)) return this.#next(request);
    const flow = this.#control.classifier.flowOf(request);
    request.flow = flow;
    const { level, metrics } = flow;
    const now = request.startedMs ?? this.#control.clock.monotonic();
    const seats = this.#seatsOf(request, flow);
    if (!level.tryStart(seats, now)) return this.#wait(request, flow, seats, now);
    if (!level.isExempt) metrics.startedAtOnce++;
    return this.#execute(request, flow, seats, now, undefined);
  }

  #seatsOf(request: ApiRequest, { level, metrics }: Flow): number {
    const seats =
      request.info.verb === 'list' && !level.isExempt
        ? this.#estimator.seatsOf(request, level.maxSeats)
        : 1;
    if (seats === 1) metrics.singleSeats++;
    else metrics.seats.observe(seats);
    return seats;
  }

  async #execute(
    request: ApiRequest,
    flow: Flow,
    seats: number,
    start: number,
    waited: Waiting | undefined,
  ): Promise<ApiResponse> {
    const { metrics } = flow;
    metrics.dispatched.value++;
    metrics.executing++;
    metrics.executingSeats += seats;
    try {
      const response = await this.#next(request);
      if (request.info.verb === 'list') this.#estimator.observe(request, response);
      return response;
    } finally {
      this.#finish(flow, seats, start, waited);
    }
  }

  #finish(
    { level, metrics }: Flow,
    seats: number,
    start: number,
    waited: Waiting | undefined,
  ): void {
    const now = this.#control.clock.monotonic();
    metrics.executing--;
    metrics.executingSeats -= seats;
    metrics.executed.observe((now - start) / 1000);
    if (waited === undefined) level.finish(seats, now);
    else level.finishWaited(waited, now - start, now);
  }

  #wait(request: ApiRequest, flow: Flow, seats: number, arrived: number): Promise<ApiResponse> {
    const { level, metrics, schema } = flow;
    const { clock } = this.#control;
    // Requests that did not come over a connection.
    const isForced = request.rawHeaders === undefined;
    const hash = fnv64a(
      `${schema},${distinguisherOf(flow.distinguisher, request.info, request.user)}`,
    );
    return new Promise<ApiResponse>((resolve, reject) => {
      let isWaiting = true;
      const end = (): void => {
        isWaiting = false;
        metrics.waiting--;
        metrics.waitingSeats -= seats;
        timer?.cancel();
        request.signal.removeEventListener('abort', onAbort);
      };
      const waiting = new Waiting(seats, hash, () => {
        const now = clock.monotonic();
        end();
        metrics.waited.observe((now - arrived) / 1000);
        this.#execute(request, flow, seats, now, waiting).then(resolve, reject);
      });
      const leave = (reason: Rejection): void => {
        if (!isWaiting) return;
        end();
        const now = clock.monotonic();
        level.leave(waiting, now);
        resolve(this.#reject(flow, reason, now - arrived));
      };
      const onAbort = (): void => leave('cancelled');
      const timer = isForced
        ? undefined
        : clock.setTimer(waitLimit(request), () => leave('time-out'));
      request.signal.addEventListener('abort', onAbort, { once: true });
      metrics.waiting++;
      metrics.waitingSeats += seats;
      this.#control.full();
      const queued = level.wait(waiting, isForced, arrived);
      if (typeof queued === 'number') {
        this.#control.metrics.queued(metrics, queued);
        if (request.signal.aborted) leave('cancelled');
        return;
      }
      end();
      resolve(this.#reject(flow, queued, 0));
    });
  }

  #reject({ level, metrics }: Flow, reason: Rejection, waitedMs: number): ApiResponse {
    this.#control.metrics.rejected(metrics, reason, waitedMs);
    let retryAfter = this.#retryAfter.get(level.name);
    if (retryAfter === undefined) {
      retryAfter = new RetryAfter();
      this.#retryAfter.set(level.name, retryAfter);
    }
    const seconds = retryAfter.rejected(this.#control.clock.monotonic());
    return {
      code: 429,
      headers: { 'retry-after': String(seconds), 'x-content-type-options': 'nosniff' },
      body: {
        kind: 'text',
        contentType: 'text/plain; charset=utf-8',
        text: 'Too many requests, please try again later.\n',
      },
    };
  }
}

/** Returns how long a request may wait, in ms: a quarter of its time limit. */
function waitLimit({ deadlineMs, startedMs }: ApiRequest): number {
  const limit =
    deadlineMs === undefined || startedMs === undefined
      ? DEFAULT_WAIT_MS
      : (deadlineMs - startedMs) / 4;
  return Math.max(0, Math.min(limit, MAX_WAIT_MS));
}
