// The hash of everything that happened between the API server and its clients, in order: two runs with the same seed
// have the same one.

import { createHash } from 'node:crypto';
import type { ApiRequest, ApiResponse, Filter } from '#apiserver/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import { mapWatch } from '#machinery/watch.ts';
import { callOf } from '../faults/call.ts';

/** So many lines are hashed at once. */
const BATCH = 256;

/**
 * Every request that has passed authorization, with its component, body and status code, and every watch event, at
 * its time. The bodies of clients that come by a connection are not part of it; what they change is, by the events.
 */
export class HistoryHash {
  readonly #clock: Clock;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #hash = createHash('sha256');
  #lines: string[] = [];
  #requests = 0;
  #events = 0;

  /** `onLine`: called with each line that is hashed, to compare two histories. */
  constructor(clock: Clock, onLine?: (line: string) => void) {
    this.#clock = clock;
    this.#onLine = onLine;
  }

  get requests(): number {
    return this.#requests;
  }

  get events(): number {
    return this.#events;
  }

  /** Returns the SHA-256 of what has happened so far, in hexadecimal. */
  digest(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }

  /** The stage of the handler chain that sees everything. */
  readonly filter: Filter = (next) => async (request) => {
    const id = ++this.#requests;
    this.#add(`${id} ${describe(request)}`);
    let response: ApiResponse;
    try {
      response = await next(request);
    } catch (error) {
      const code = error instanceof apierrors.StatusError ? error.code : 'error';
      this.#add(`${id} ${code}`);
      throw error;
    }
    this.#add(`${id} ${response.code}`);
    return response.body.kind === 'watch' ? this.#watched(id, response, response.body) : response;
  };

  #watched(
    id: number,
    response: ApiResponse,
    { events }: Extract<ApiResponse['body'], { kind: 'watch' }>,
  ): ApiResponse {
    const seen = mapWatch(events, (event) => {
      const { metadata } = event.object.object() as {
        metadata?: { name?: string; namespace?: string; resourceVersion?: string };
      };
      this.#events++;
      this.#add(
        `${id} ${event.type} ${metadata?.namespace ?? ''}/${metadata?.name ?? ''} ${metadata?.resourceVersion ?? ''}`,
      );
      return event;
    });
    return { ...response, body: { kind: 'watch', events: seen } };
  }

  #add(what: string): void {
    const line = `${this.#clock.now()} ${what}`;
    this.#onLine?.(line);
    if (this.#lines.push(line) >= BATCH) this.#flush();
  }

  #flush(): void {
    if (this.#lines.length === 0) return;
    this.#hash.update(`${this.#lines.join('\n')}\n`);
    this.#lines = [];
  }
}

function describe(request: ApiRequest): string {
  const { method, path, query, body, info } = request;
  const { component } = callOf(request);
  const sent =
    body.kind === 'object' && body.object !== undefined ? stringifyJson(body.object) : '';
  return `${component} ${info.verb === 'watch' ? 'WATCH' : method} ${path}?${query.toString()} ${sent}`;
}
