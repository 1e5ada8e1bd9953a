// GET /console/api/traffic: what each client of the API server does, once a second. The first line
// has all clients, the next ones those whose counts have changed.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { type ConsoleRequest, type ConsoleResponse, expectMethod, jsonLines } from '../http.ts';
import { type ClientCounts, countedWatch, TrafficCounters } from './counters.ts';

const INTERVAL_MS = 1000;
const MAX_STREAMS = 50;

/** A response as far as it is counted. */
interface Countable {
  readonly code: number;
  readonly body: { readonly kind: string } | WatchBody;
}

interface WatchBody {
  readonly kind: 'watch';
  readonly events: WatchStream<unknown>;
}

export class Traffic {
  readonly #clock: Clock;
  readonly #counters = new TrafficCounters();
  readonly #stopped: AbortSignal;
  #streams = 0;

  constructor({ clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal }) {
    this.#clock = clock;
    this.#stopped = signal;
  }

  /**
   * Counts a request that has been served, and returns its response, in which a watch is replaced by
   * one that is counted. `isInProcess`: the client stops each watch itself.
   */
  count<R extends Countable>(request: ConsoleRequest, response: R, isInProcess: boolean): R {
    const { user, headers, method } = request;
    if (user === undefined) return response;
    const counts = this.#counters.of(user.name, headers['user-agent'] ?? '');
    if (method === 'GET' || method === 'HEAD') counts.reads++;
    else counts.writes++;
    if (response.code >= 400) counts.failures++;
    const { body } = response;
    if (!isWatch(body)) return response;
    const ended = isInProcess ? undefined : request.signal;
    return { ...response, body: { ...body, events: countedWatch(body.events, counts, ended) } };
  }

  serve(request: ConsoleRequest): ConsoleResponse {
    expectMethod(request, 'GET');
    if (this.#streams >= MAX_STREAMS)
      throw apierrors.tooManyRequests('too many streams of the traffic at a time', 5);
    return jsonLines(this.#lines(request.signal));
  }

  async *#lines(gone: AbortSignal): AsyncIterable<unknown> {
    this.#streams++;
    const signal = AbortSignal.any([gone, this.#stopped]);
    try {
      const sent = new Map<ClientCounts, string>();
      while (!signal.aborted) {
        const clients: ClientCounts[] = [];
        for (const counts of this.#counters.clients) {
          const state = JSON.stringify(counts);
          if (sent.get(counts) === state) continue;
          sent.set(counts, state);
          clients.push(counts);
        }
        yield { time: new Date(this.#clock.now()).toISOString(), clients };
        await this.#clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
      }
    } finally {
      this.#streams--;
    }
  }
}

function isWatch(body: Countable['body']): body is WatchBody {
  return body.kind === 'watch';
}
