// libuv's thread pool: file system calls, DNS lookups, compression and WebCrypto share its threads, four unless
// UV_THREADPOOL_SIZE says otherwise. A call that blocks keeps its thread. When all threads are blocked, the event loop still
// turns, but nothing that needs the pool completes: token signatures, file reads, gzip.
//
// Two defences are here: `poolGate` bounds how many threads calls may take whose files others can make slow, and
// `poolIsAlive` notices a pool that is stuck.

import { stat } from 'node:fs/promises';
import { systemClock, type Clock } from '../clock.ts';
import { Fifo } from '../collections/fifo.ts';

/** The threads of the pool of this process. libuv reads the variable once, when the pool starts. */
export function poolSize(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): number {
  const size = Number.parseInt(environment['UV_THREADPOOL_SIZE'] ?? '4', 10);
  return Number.isNaN(size) ? 4 : Math.min(Math.max(size, 1), 1024);
}

/** Runs at most `limit` operations at once, the others in the order in which they came. */
export class Gate {
  readonly #limit: number;
  readonly #waiting = new Fifo<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs the operation when it is its turn. An operation that has begun keeps its place until it settles, even if the caller
   * has stopped waiting for it: the place stands for a thread. An operation whose signal aborts before its turn never begins.
   */
  async run<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#running >= this.#limit)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (signal.aborted) {
      this.#waiting.shift()?.();
      throw signal.reason as Error;
    }
    this.#running++;
    try {
      return await operation();
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }
}

/** For calls on files that others control: half of the pool stays free, whatever those files are. */
export const poolGate = new Gate(Math.max(1, Math.floor(poolSize() / 2)));

/** The probe in flight, if any: a stuck pool is asked once, not once per caller. */
let probe: Promise<void> | undefined;

/** Reports whether the pool completes an operation within `timeoutMs`. Costs one stat(2). */
export async function poolIsAlive(timeoutMs: number, clock: Clock = systemClock): Promise<boolean> {
  probe ??= stat('/')
    .then(() => undefined)
    .finally(() => {
      probe = undefined;
    });
  const late = new AbortController();
  const alive = await Promise.race([
    probe.then(() => true),
    clock.sleep(timeoutMs, late.signal).then(
      () => false,
      () => true,
    ),
  ]);
  late.abort();
  return alive;
}
