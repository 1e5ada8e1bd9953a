// A transport with faults: a test can hold back watch events and make single requests fail, as a
// slow or broken network does.

import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import type { Transport, TransportRequest, WatchEvent } from '#client/transport.ts';

interface Fault {
  readonly matches: (request: TransportRequest) => boolean;
  readonly err: () => Error;
  /** The request fails after it took effect: only its response is lost. */
  readonly after: boolean;
  left: number;
}

export class FaultyTransport implements Transport {
  readonly #inner: Transport;
  readonly #faults: Fault[] = [];
  /** Paths whose events are held back, with the pending deliveries. */
  readonly #held = new Map<string, (() => void)[]>();
  /** 'METHOD /path' of every request except watches. */
  readonly requests: string[] = [];

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /**
   * Makes the next `times` requests with this method and a matching path fail; `after`: they take
   * effect first.
   */
  fail(
    method: TransportRequest['method'],
    path: RegExp,
    err: () => Error,
    { times = 1, after = false } = {},
  ): void {
    const matches = (request: TransportRequest): boolean =>
      request.method === method && path.test(request.path);
    this.#faults.push({ matches, err, after, left: times });
  }

  /** Holds back watch events of this path until `release`. */
  hold(path: string): void {
    if (!this.#held.has(path)) this.#held.set(path, []);
  }

  release(path: string): void {
    const waiting = this.#held.get(path) ?? [];
    this.#held.delete(path);
    for (const deliver of waiting) deliver();
  }

  /** Returns a transport over another connection, with the same faults. */
  over(inner: Transport): Transport {
    return {
      request: (request) => this.request(request, inner),
      watch: (request) => this.watch(request, inner),
      text: (request) => inner.text(request),
      stream: (request) => inner.stream(request),
      close: () => inner.close(),
    };
  }

  async request<T>(request: TransportRequest, inner: Transport = this.#inner): Promise<T> {
    this.requests.push(`${request.method} ${request.path}`);
    const fault = this.#faults.find(
      (candidate) => candidate.left > 0 && candidate.matches(request),
    );
    if (fault === undefined) return inner.request(request);
    fault.left--;
    if (fault.after) await inner.request(request);
    throw fault.err();
  }

  async watch<T>(
    request: TransportRequest,
    inner: Transport = this.#inner,
  ): Promise<WatchStream<WatchEvent<T>>> {
    const source = await inner.watch<T>(request);
    const queue = new WatchQueue<WatchEvent<T>>({ onStop: () => source.stop() });
    // A caller that stops a watch does not wait for delayed events.
    request.signal?.addEventListener('abort', () => queue.stop());
    const deliver = (action: () => void): void => {
      const waiting = this.#held.get(request.path);
      if (waiting === undefined) action();
      else waiting.push(action);
    };
    void (async () => {
      try {
        for await (const event of source) deliver(() => queue.push(event));
        deliver(() => queue.close());
      } catch (error) {
        deliver(() => queue.fail(error));
      }
    })();
    return queue;
  }

  text(request: TransportRequest): Promise<string> {
    return this.#inner.text(request);
  }

  stream(request: TransportRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#inner.stream(request);
  }

  close(): void {
    this.#inner.close();
  }
}
