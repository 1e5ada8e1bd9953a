// How much is begun in one turn of the event loop. When many requests arrive at once, working them all off at once would keep
// everything else waiting (watches, leases, answers of the storage): only so many are begun, the others wait for the next turns,
// in the order in which they came. What the event loop does between two turns is to look after everybody else.

import { Fifo } from '#machinery/collections/fifo.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/** At the cost of a create (some 100 µs) a good millisecond, and twice as much for the answers that are due. */
export const MAX_PER_TURN = 12;

export class TurnGate {
  readonly #maxPerTurn: number;
  /** Begun in this turn. */
  #begun = 0;
  readonly #waiting = new Fifo<() => void>();
  #scheduled = false;

  constructor(maxPerTurn = MAX_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
  }

  /** Begins the work now, if there is room in this turn and no work waits; otherwise in a later turn. */
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
    // Work that is begun here counts for the new turn.
    this.#schedule();
    for (let room = Math.min(this.#waiting.length, this.#maxPerTurn); room > 0; room--) {
      const work = this.#waiting.shift()!;
      this.#begun++;
      work();
    }
  }
}
