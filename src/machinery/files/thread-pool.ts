// libuv's thread pool. File system calls, DNS lookups, compression and WebCrypto share its threads:
// four, unless UV_THREADPOOL_SIZE sets another number. A call that blocks occupies its thread. When
// all threads are blocked, the event loop still turns, but operations of the pool (token
// signatures, file reads, gzip) do not complete.
//
// There are two defences: `poolGate` limits the threads for calls on files that other programs
// can make slow, and `poolIsAlive` detects a stuck pool.

import { stat } from 'node:fs/promises';
import { systemClock, type Clock } from '../clock.ts';
import { Fifo } from '../collections/fifo.ts';

/**
 * Returns the number of threads of this process' pool. libuv reads the variable once, when the pool
 * starts.
 */
export function poolSize(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): number {
  const size = Number.parseInt(environment['UV_THREADPOOL_SIZE'] ?? '4', 10);
  return Number.isNaN(size) ? 4 : Math.min(Math.max(size, 1), 1024);
}

/** Runs at most `limit` operations at once. The others wait in order of arrival. */
export class Gate {
  readonly #limit: number;
  readonly #waiting = new Fifo<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs the operation when it is its turn. A started operation keeps its place until it settles,
   * even if the caller has stopped waiting, because the place stands for a thread. An operation
   * whose signal aborts before its turn never starts.
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

/**
 * The gate for calls on files that other programs control. It keeps half of the pool free, whatever
 * those files are.
 */
export const poolGate = new Gate(Math.max(1, Math.floor(poolSize() / 2)));

/** The probe in flight, if any. All callers share it, so a stuck pool gets one probe only. */
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
