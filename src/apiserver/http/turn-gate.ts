// Limits the work that begins in one turn of the event loop. When many requests arrive at once,
// processing them all in one turn would delay everything else (watches, leases, responses of the
// storage). So only some begin, and the others wait for the next turns, in order of arrival.
// Between two turns the event loop processes other events.

import { Fifo } from '#machinery/collections/fifo.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/**
 * The maximum in one turn. At the cost of a create (about 100 µs) these take a good millisecond,
 * and their responses twice as much.
 */
export const MAX_PER_TURN = 12;

export class TurnGate {
  readonly #maxPerTurn: number;
  /** The number of pieces of work that began in this turn. */
  #begun = 0;
  readonly #waiting = new Fifo<() => void>();
  #scheduled = false;

  constructor(maxPerTurn = MAX_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
  }

  /**
   * Begins the work now, if there is room in this turn and no work waits; otherwise in a later
   * turn.
   */
  begin(work: () => void): void {
    this.#schedule();
    if (this.#begun < this.#maxPerTurn && this.#waiting.length === 0) {
      this.#begun++;
      work();
    } else this.#waiting.push(work);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    inNextTurn(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#scheduled = false;
    this.#begun = 0;
    if (this.#waiting.length === 0) return;
    // Work that begins here counts for the new turn.
    this.#schedule();
    for (let room = Math.min(this.#waiting.length, this.#maxPerTurn); room > 0; room--) {
      const work = this.#waiting.shift()!;
      this.#begun++;
      work();
    }
  }
}
