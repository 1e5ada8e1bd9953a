// Limits how much of one kind of work runs at a time. The rest waits, and starts in its order.

import { Fifo } from './collections/fifo.ts';

export class Slots {
  #free: number;
  readonly #waiting = new Fifo<() => void>();

  /** `limit`: the maximum number that run at a time; Infinity: no maximum. */
  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs the work when there is room. Resolves with its result. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place is handed on, so that new work does not overtake.
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

/**
 * Calls `work` for each item, for at most `limit` at a time. Rejects with the first failure; no
 * further item is begun then.
 */
export async function forEachOf<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of rest) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
