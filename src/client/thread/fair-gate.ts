// Limits the requests in flight of a thread. Waiting requests are served in turn, one per caller,
// so that a caller with a thousand requests does not delay the single request of another. Few
// callers (controllers, the scheduler) and many callers (kubelets) take turns as groups.

import { Fifo } from '#machinery/collections/fifo.ts';

/** The group of a caller. */
export type Lane = 'control' | 'node';

interface Waiting {
  readonly start: () => void;
  cancelled: boolean;
}

export class FairGate {
  readonly #limit: () => number;
  #inFlight = 0;
  /** Callers with waiting requests, in the order of their turns. */
  readonly #lanes: Readonly<Record<Lane, Map<number, Fifo<Waiting>>>> = {
    control: new Map(),
    node: new Map(),
  };
  #next: Lane = 'control';

  /** `limit`: of the requests in flight. If it grows, it counts when a request enters or leaves. */
  constructor(limit: number | (() => number)) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
  }

  /** Reports whether a request is in flight. */
  get isBusy(): boolean {
    return this.#inFlight > 0;
  }

  /**
   * Calls `start` when there is room: immediately, or in the caller's turn. A started request calls
   * leave() once. Returns a function that withdraws a waiting request; it returns false if the
   * request was started.
   */
  enter(lane: Lane, caller: number, start: () => void): () => boolean {
    if (!this.#hasWaiting && this.#inFlight < this.#limit()) {
      this.#inFlight++;
      start();
      return () => false;
    }
    const callers = this.#lanes[lane];
    let queue = callers.get(caller);
    if (queue === undefined) callers.set(caller, (queue = new Fifo()));
    const waiting: Waiting = { start, cancelled: false };
    queue.push(waiting);
    this.#startWaiting();
    let withdrawn = false;
    return () => {
      if (waiting.cancelled) return withdrawn;
      waiting.cancelled = true;
      return (withdrawn = true);
    };
  }

  /** Reports that a started request has ended. */
  leave(): void {
    this.#inFlight--;
    this.#startWaiting();
  }

  get #hasWaiting(): boolean {
    return this.#lanes.control.size > 0 || this.#lanes.node.size > 0;
  }

  #startWaiting(): void {
    while (this.#hasWaiting && this.#inFlight < this.#limit()) {
      const next = this.#take();
      if (next === undefined) return;
      this.#inFlight++;
      next.start();
    }
  }

  #take(): Waiting | undefined {
    const first = this.#next;
    const second: Lane = first === 'control' ? 'node' : 'control';
    this.#next = second;
    return this.#takeFrom(this.#lanes[first]) ?? this.#takeFrom(this.#lanes[second]);
  }

  #takeFrom(callers: Map<number, Fifo<Waiting>>): Waiting | undefined {
    for (const [caller, queue] of callers) {
      let waiting = queue.shift();
      while (waiting?.cancelled === true) waiting = queue.shift();
      callers.delete(caller);
      if (waiting === undefined) continue;
      // The request cannot be withdrawn any more.
      waiting.cancelled = true;
      if (queue.length > 0) callers.set(caller, queue);
      return waiting;
    }
    return undefined;
  }
}
