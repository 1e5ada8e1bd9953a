// Shares the event loop between watchers. A change of an object with 10,000 watchers is as many
// writes; in one turn of the event loop they would delay everything else. Watchers that wait for
// their turn receive what arrives meanwhile together with the first event, so that a server at its
// limit writes larger pieces instead of more of them.

import { Fifo } from '#machinery/collections/fifo.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/** The maximum of one turn. At about 10 µs each these take some milliseconds. */
const MAX_WATCHERS_PER_TURN = 256;

export interface TurnTaker {
  /** Does a bounded piece of work. Must not throw. */
  run(): void;
}

export class WatchTurns {
  readonly #maxPerTurn: number;
  readonly #waiting = new Fifo<TurnTaker>();
  #scheduled = false;

  constructor(maxPerTurn = MAX_WATCHERS_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
  }

  /** Runs the taker once: soon after the current work, or in a later turn if many wait. */
  add(taker: TurnTaker): void {
    this.#waiting.push(taker);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#turn());
  }

  #turn(): void {
    for (let left = this.#maxPerTurn; left > 0 && this.#waiting.length > 0; left--)
      this.#waiting.shift()!.run();
    if (this.#waiting.length > 0) inNextTurn(() => this.#turn());
    else this.#scheduled = false;
  }
}
