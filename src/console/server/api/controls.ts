// GET and POST /console/api/clock, POST /console/api/forks: clusters with a virtual clock.

import * as apierrors from '#machinery/apierrors.ts';
import {
  type ConsoleRequest,
  type ConsoleResponse,
  expectMethod,
  json,
  jsonBody,
  jsonLines,
} from '../http.ts';
import type { ClusterControls } from '../features.ts';

/** Ten years: a mistake is not simulated for hours. */
const MAX_ADVANCE_MS = 10 * 365 * 86_400_000;

export class Controls {
  readonly #controls: ClusterControls;
  #isBusy = false;

  constructor(controls: ClusterControls) {
    this.#controls = controls;
  }

  /** The body of a POST: {"advanceMs": NUMBER} or {"settle": true}. */
  async serveClock(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'GET', 'POST');
    if (request.method === 'GET') return this.#time();
    const { advanceMs, settle } = await jsonBody(request, ['advanceMs', 'settle']);
    if (settle === true && advanceMs === undefined)
      return this.#move(() => this.#controls.settle());
    if (typeof advanceMs === 'number' && settle === undefined) {
      if (!Number.isInteger(advanceMs) || advanceMs < 1 || advanceMs > MAX_ADVANCE_MS)
        throw apierrors.badRequest(`advanceMs must be a whole number from 1 to ${MAX_ADVANCE_MS}`);
      return this.#move(() => this.#controls.advance(advanceMs));
    }
    throw apierrors.badRequest('the body must have advanceMs, or settle: true');
  }

  async serveForks(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'POST');
    const { fork } = this.#controls;
    const { user } = request;
    if (fork === undefined || user === undefined) throw apierrors.genericStatus(404);
    return json(await this.#alone(() => fork(user)), { code: 201 });
  }

  get canFork(): boolean {
    return this.#controls.fork !== undefined;
  }

  #time(): ConsoleResponse {
    return json(this.#now());
  }

  #now(): object {
    return { time: new Date(this.#controls.now()).toISOString() };
  }

  /**
   * Moves the clock, and sends the time after it. The response begins at once: the time limit of a
   * request is measured by the very clock.
   */
  #move(action: () => Promise<void>): ConsoleResponse {
    const moved = this.#alone(action);
    // The stream throws it; a client that has gone does not read the stream.
    moved.catch(() => undefined);
    const now = (): object => this.#now();
    return jsonLines(
      (async function* () {
        await moved;
        yield now();
      })(),
    );
  }

  /** One at a time: the clock cannot be advanced twice at once. */
  #alone<T>(action: () => Promise<T>): Promise<T> {
    if (this.#isBusy) throw apierrors.tooManyRequests('the clock is being advanced', 1);
    this.#isBusy = true;
    return action().finally(() => (this.#isBusy = false));
  }
}
