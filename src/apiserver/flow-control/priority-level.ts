// One priority level: its seats, and the requests that wait for them.
//
// A request that finds a free seat, while no other one waits, starts at once; this costs a few
// additions. Only others are put into queues, so queues are charged for what they dispatch, and not
// for requests that have found the level idle.

import { FairQueues, type QueueConfig, QueuedRequest } from './fair-queues.ts';
import type { LevelLimits } from './limits.ts';
import { SeatDemand } from './seat-demand.ts';

/** The reasons of upstream's metrics. */
export type Rejection = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

export interface LevelConfig {
  readonly name: string;
  readonly isExempt: boolean;
  /** Absent: requests that find no free seat are rejected. */
  readonly queues?: QueueConfig;
}

/** Requests that must not be rejected wait in this queue if the level has no other. */
const NO_QUEUES: QueueConfig = { queues: 1, handSize: 1, queueLengthLimit: 0 };
/** The part of its level's nominal limit that one request may take. */
const MAX_SEATS_SHARE = 0.15;

/** A request that waits for its seats. */
export class Waiting extends QueuedRequest {
  /** Called when the request has its seats. */
  readonly start: () => void;

  constructor(seats: number, hash: bigint, start: () => void) {
    super(seats, hash);
    this.start = start;
  }
}

export class PriorityLevel {
  readonly name: string;
  readonly isExempt: boolean;
  readonly demand: SeatDemand;
  limits: LevelLimits = { nominal: 0, min: 0, max: 0 };
  /** The seats that the level could use, for metrics. */
  target = 0;
  #queues = new FairQueues<Waiting>(NO_QUEUES);
  #hasQueues = false;
  #current = 1;
  #occupied = 0;

  /** Creates an idle level. `now`: monotonic ms, as in all functions. */
  constructor(config: LevelConfig, now: number) {
    this.name = config.name;
    this.isExempt = config.isExempt;
    this.demand = new SeatDemand(now);
    this.configure(config);
  }

  /** The seats that requests may take now. */
  get current(): number {
    return this.#current;
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#queues.length;
  }

  /** The most seats that one request may take. */
  get maxSeats(): number {
    const { nominal } = this.limits;
    const share = Math.ceil(nominal * MAX_SEATS_SHARE);
    return Math.max(1, Math.min(share, Math.floor(nominal / this.#queues.config.handSize)));
  }

  /** Changes the queues. Waiting requests are distributed again, and none is rejected. */
  configure({ queues }: LevelConfig): void {
    this.#hasQueues = queues !== undefined;
    const next = queues ?? NO_QUEUES;
    const { config } = this.#queues;
    if (
      config.queues === next.queues &&
      config.handSize === next.handSize &&
      config.queueLengthLimit === next.queueLengthLimit
    )
      return;
    const waiting = this.#queues.drain();
    this.#queues = new FairQueues(next);
    for (const request of waiting) this.#queues.add(request, true);
  }

  /** Changes the number of seats, and starts requests that have seats now. */
  setCurrent(seats: number): void {
    this.#current = seats;
    this.#startNext();
  }

  /** Takes seats, if they are free and no other request waits. Reports whether it has. */
  tryStart(seats: number, now: number): boolean {
    const isFree = this.isExempt || (this.#queues.length === 0 && this.#accommodates(seats));
    if (!isFree) return false;
    this.#occupied += seats;
    this.demand.add(seats, now);
    return true;
  }

  /** Returns the seats of a request that has ended, or whose client has its response. */
  finish(seats: number, now: number): void {
    this.#occupied -= seats;
    this.demand.add(-seats, now);
    this.#startNext();
  }

  /**
   * Queues a request. Returns the length of its queue, or why the request is rejected. `isForced`:
   * it is never rejected.
   */
  wait(request: Waiting, isForced: boolean, now: number): number | Rejection {
    if (!this.#hasQueues && !isForced) return 'concurrency-limit';
    const length = this.#queues.add(request, isForced);
    if (length === undefined) return 'queue-full';
    this.demand.add(request.seats, now);
    // The seats may be free, and the request only behind others that need more of them.
    this.#startNext();
    return length;
  }

  /** Removes a request that does not wait any longer. */
  leave(request: Waiting, now: number): void {
    this.#queues.remove(request);
    this.demand.add(-request.seats, now);
    this.#startNext();
  }

  /** Returns the seats of a request that has waited and was executed. */
  finishWaited(request: Waiting, durationMs: number, now: number): void {
    this.#queues.finished(request, durationMs);
    this.finish(request.seats, now);
  }

  /** A request that needs more seats than there are is executed alone. */
  #accommodates(seats: number): boolean {
    return this.#occupied === 0 || this.#occupied + seats <= this.#current;
  }

  #startNext(): void {
    while (this.#queues.length > 0) {
      const next = this.#queues.next()!;
      if (!this.#accommodates(next.seats)) return;
      this.#queues.dispatch(next);
      this.#occupied += next.seats;
      // The demand stays as it is: a waiting request counts, too.
      next.start();
    }
  }
}
