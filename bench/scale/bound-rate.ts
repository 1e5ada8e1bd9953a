// Counts the pods that the scheduler binds, from its metrics.

import type { Client } from '#client/client.ts';
import { systemClock, type Timer } from '#machinery/clock.ts';

const SAMPLE_MS = 2000;
const WINDOW_MS = 10_000;

interface Sample {
  readonly at: number;
  readonly bound: number;
}

export class BoundRate {
  readonly #client: Client;
  readonly #samples: Sample[] = [];
  readonly #timer: Timer;
  #sampling: Promise<void> = Promise.resolve();

  /** Samples begin at once. */
  constructor(client: Client) {
    this.#client = client;
    this.#timer = systemClock.setInterval(SAMPLE_MS, () => this.#sample());
    this.#sample();
  }

  /**
   * Ends the samples. Returns the largest rate of a window of 10 seconds, or of the whole time if
   * it is shorter, in pods per second.
   */
  async stop(): Promise<number> {
    this.#timer.cancel();
    this.#sample();
    await this.#sampling;
    let most = 0;
    let from = 0;
    const last = this.#samples.length - 1;
    for (let to = 1; to <= last; to++) {
      const [start, end] = [this.#samples[from], this.#samples[to]];
      if (start === undefined || end === undefined) break;
      if (end.at - start.at < WINDOW_MS && to < last) continue;
      most = Math.max(most, (1000 * (end.bound - start.bound)) / (end.at - start.at));
      from++;
    }
    return most;
  }

  #sample(): void {
    this.#sampling = this.#sampling.then(async () => {
      const text = await this.#client.transport.text({ method: 'GET', path: '/metrics' });
      this.#samples.push({ at: systemClock.monotonic(), bound: boundIn(text) });
    });
  }
}

/** Returns the number of pods that have been bound, from metrics in Prometheus' format. */
function boundIn(metrics: string): number {
  const lines = metrics.matchAll(
    /^scheduler_schedule_attempts_total\{[^}]*result="scheduled"[^}]*\} ([\d.e+]+)$/gm,
  );
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
}
