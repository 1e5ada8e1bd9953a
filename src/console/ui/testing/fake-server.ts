// A server for tests of the data layer: answers are queued by path, watches stay open and are
// written to by the test.

import type { Clock, Timer } from '../browser/clock.ts';
import type { Fetch } from '../browser/fetch.ts';

/** A watch that the test writes to. */
export interface OpenWatch {
  readonly url: URL;
  send(...events: readonly unknown[]): void;
  end(): void;
  /** Breaks the connection. */
  fail(): void;
}

type Answer = (url: URL, init: RequestInit) => Response | Promise<Response>;

export class FakeServer {
  readonly requests: URL[] = [];
  readonly watches: OpenWatch[] = [];
  #answers: Answer[] = [];
  #waiting: (() => void)[] = [];

  /** Answers the next request that is not a watch. */
  next(answer: Answer): void {
    this.#answers.push(answer);
  }

  nextJson(body: unknown, status = 200): void {
    this.next(() => Response.json(body, { status }));
  }

  readonly fetch: Fetch = async (path, init) => {
    const url = new URL(path, 'https://server');
    this.requests.push(url);
    this.#notify();
    const answer = this.#answers.shift();
    if (answer !== undefined) return answer(url, init);
    if (url.searchParams.get('watch') === 'true') return this.#watch(url, init);
    throw new TypeError(`no answer for ${path}`);
  };

  #watch(url: URL, init: RequestInit): Response {
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const stream = new ReadableStream<Uint8Array>({
      start(each) {
        controller = each;
      },
    });
    const encoder = new TextEncoder();
    init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
    this.watches.push({
      url,
      send: (...events) =>
        controller.enqueue(
          encoder.encode(events.map((event) => `${JSON.stringify(event)}\n`).join('')),
        ),
      end: () => controller.close(),
      fail: () => controller.error(new TypeError('network error')),
    });
    this.#notify();
    return new Response(stream);
  }

  /** Resolves once the condition holds; it is looked at after each request. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #notify(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

interface SetTimer {
  at: number;
  readonly callback: () => void;
  readonly everyMs?: number;
}

/** A clock that the test turns. */
export class TestClock implements Clock {
  #now = Date.parse('2026-01-01T00:00:00Z');
  #timers: SetTimer[] = [];

  now(): number {
    return this.#now;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#add({ at: this.#now + delayMs, callback });
  }

  setInterval(everyMs: number, callback: () => void): Timer {
    return this.#add({ at: this.#now + everyMs, callback, everyMs });
  }

  #add(timer: SetTimer): Timer {
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((each) => each !== timer);
      },
    };
  }

  /** Lets everything that is ready happen, then timers up to `ms` from now. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#now = Math.max(this.#now, due.at);
      if (due.everyMs === undefined) this.#timers = this.#timers.filter((each) => each !== due);
      else due.at += due.everyMs;
      due.callback();
      await settle();
    }
    this.#now = end;
  }
}

/** Lets promises and streams come to rest. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
