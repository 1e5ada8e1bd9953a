// Lines that show how far a long measurement is.

import { type Clock, type Timer } from '#machinery/clock.ts';
import { residentMB } from '../process-usage.ts';
import { note } from '../report.ts';

const INTERVAL_MS = 10_000;

export interface ProgressConfig {
  readonly clock: Clock;
  readonly what: string;
  /** The number of steps. */
  readonly total: number;
  /** Returns what else a line shows. */
  readonly more: () => Promise<string>;
}

/** Prints a line every ten seconds, with the steps so far and their rate since the last line. */
export class Progress {
  /** The number of steps so far. */
  done = 0;
  #printed = 0;
  readonly #timer: Timer;

  readonly #config: ProgressConfig;
  #lastPrint: number;

  constructor(config: ProgressConfig) {
    this.#config = config;
    this.#lastPrint = config.clock.monotonic();
    this.#timer = config.clock.setInterval(INTERVAL_MS, () => void this.#print());
  }

  stop(): void {
    this.#timer.cancel();
  }

  async #print(): Promise<void> {
    const { clock, what, total, more } = this.#config;
    const { done } = this;
    const now = clock.monotonic();
    const rate = (done - this.#printed) / ((now - this.#lastPrint) / 1000);
    this.#printed = done;
    this.#lastPrint = now;
    const text = await more();
    note(
      `${what}: ${numberOf(done)} of ${numberOf(total)}, ${numberOf(rate)}/s, ` +
        `${numberOf(residentMB(process.pid))} MB resident${text}`,
    );
  }
}

const numberOf = (value: number): string => Math.round(value).toLocaleString('en');
