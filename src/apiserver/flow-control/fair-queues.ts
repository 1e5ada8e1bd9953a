// The queues of a priority level. Requests are dispatched by start-time fair queuing (Goyal, Vin
// and Cheng, 1996): each queue has a virtual start time, the queue with the earliest one is next,
// and each dispatched request moves its queue's start by the seats and the time that it takes. So
// queues get equal shares of seats and time, however many requests each of them has.
//
// The time that a request takes is estimated when it is dispatched, and corrected when it ends.

import { Link, LinkedList } from '#machinery/collections/linked-list.ts';
import { dealHand } from './shuffle-sharding.ts';

export interface QueueConfig {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

/** The estimated duration of a request, in ms. */
const ESTIMATE_MS = 3;

class Queue {
  readonly index: number;
  readonly waiting = new LinkedList<QueuedRequest>();
  /** The virtual time at which the next request of the queue starts. */
  start = 0;
  /** The seats of the requests that wait here, and of those that were dispatched and execute. */
  seats = 0;

  constructor(index: number) {
    this.index = index;
  }
}

/** A request that waits in a queue, or was dispatched from one. */
export class QueuedRequest extends Link {
  readonly seats: number;
  readonly hash: bigint;
  queue: Queue | undefined;

  /** Creates a request. `hash`: of its flow, evenly distributed. */
  constructor(seats: number, hash: bigint) {
    super();
    this.seats = seats;
    this.hash = hash;
  }
}

export class FairQueues<R extends QueuedRequest> {
  readonly config: QueueConfig;
  readonly #queues: readonly Queue[];
  /** The virtual start time of the last dispatched request. */
  #now = 0;
  /** The index of the queue that was served last. Queues with equal start times take turns. */
  #last = 0;
  #length = 0;

  constructor(config: QueueConfig) {
    this.config = config;
    this.#queues = Array.from({ length: config.queues }, (_, index) => new Queue(index));
  }

  /** The number of waiting requests. */
  get length(): number {
    return this.#length;
  }

  /**
   * Appends a request to the least occupied queue of its hand. Returns the number of requests in
   * that queue, or undefined if the queue is full. `isForced`: even a full queue takes it.
   */
  add(request: R, isForced: boolean): number | undefined {
    const { handSize, queueLengthLimit } = this.config;
    let shortest: Queue | undefined;
    for (const index of dealHand(request.hash, this.#queues.length, handSize)) {
      const queue = this.#queues[index]!;
      if (shortest === undefined || queue.seats < shortest.seats) shortest = queue;
    }
    const queue = shortest!;
    if (queue.waiting.size >= queueLengthLimit && !isForced) return undefined;
    if (queue.waiting.size === 0) queue.start = Math.max(queue.start, this.#now);
    queue.waiting.add(request);
    queue.seats += request.seats;
    request.queue = queue;
    this.#length++;
    return queue.waiting.size;
  }

  /** Returns the request that is to be dispatched next; undefined if none waits. */
  next(): R | undefined {
    const count = this.#queues.length;
    let first: Queue | undefined;
    for (let step = 1; step <= count; step++) {
      const queue = this.#queues[(this.#last + step) % count]!;
      if (queue.waiting.size > 0 && (first === undefined || queue.start < first.start))
        first = queue;
    }
    return first?.waiting.first as R | undefined;
  }

  /** Takes a waiting request out of its queue to execute it. `finished` must be called later. */
  dispatch(request: R): void {
    const queue = this.#take(request);
    this.#now = Math.max(this.#now, queue.start);
    this.#last = queue.index;
    queue.start += request.seats * ESTIMATE_MS;
  }

  /** Corrects the estimate for a dispatched request that has ended. */
  finished({ queue, seats }: R, durationMs: number): void {
    if (queue === undefined) return;
    queue.seats -= seats;
    queue.start += seats * (durationMs - ESTIMATE_MS);
  }

  /** Removes a request that waits no longer. */
  remove(request: R): void {
    const queue = this.#take(request);
    queue.seats -= request.seats;
    request.queue = undefined;
  }

  /** Removes and returns all waiting requests. */
  drain(): readonly R[] {
    const all = this.#queues.flatMap(({ waiting }) => [...waiting]) as R[];
    for (const request of all) this.remove(request);
    return all;
  }

  #take(request: R): Queue {
    const { queue } = request;
    if (queue === undefined || !queue.waiting.delete(request))
      throw new Error('fair queues: the request does not wait here');
    this.#length--;
    return queue;
  }
}
