// A bounded log of records. The oldest records make room for new ones.

import type { ClusterEvent, EventLog } from './records.ts';

const LIMIT = 50_000;
/** The objects in the records have so many bytes of JSON at most, about. */
const LIMIT_BYTES = 64 * 1024 * 1024;

interface Kept<E> {
  readonly event: E;
  readonly bytes: number;
}

export class RecordLog<E extends ClusterEvent> implements EventLog {
  readonly #limit: number;
  readonly #limitBytes: number;
  #kept: Kept<E>[] = [];
  /** Records before this index are dropped. */
  #start = 0;
  #bytes = 0;
  #dropped = 0;
  #ended = false;
  #waiters: (() => void)[] = [];

  constructor({ limit = LIMIT, limitBytes = LIMIT_BYTES } = {}) {
    this.#limit = limit;
    this.#limitBytes = limitBytes;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** `bytes`: of what the record keeps in memory. */
  push(event: E, bytes = 0): void {
    this.#kept.push({ event, bytes });
    this.#bytes += bytes;
    while (this.#kept.length - this.#start > this.#limit || this.#bytes > this.#limitBytes)
      this.#drop();
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** Ends iterations. */
  end(): void {
    this.#ended = true;
    for (const wake of this.#waiters.splice(0)) wake();
  }

  *[Symbol.iterator](): Iterator<E> {
    for (let n = this.#start; n < this.#kept.length; n++) yield (this.#kept[n] as Kept<E>).event;
  }

  /** From the newest to the oldest. */
  *backwards(): Iterable<E> {
    for (let n = this.#kept.length - 1; n >= this.#start; n--)
      yield (this.#kept[n] as Kept<E>).event;
  }

  filter<T extends ClusterEvent['type']>(
    type: T,
    filter: (event: Extract<ClusterEvent, { type: T }>) => boolean = () => true,
  ): readonly Extract<ClusterEvent, { type: T }>[] {
    const found: Extract<ClusterEvent, { type: T }>[] = [];
    for (const event of this) {
      const typed = event as unknown as Extract<ClusterEvent, { type: T }>;
      if (event.type === type && filter(typed)) found.push(typed);
    }
    return found;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<E> {
    /** The number of the next record, of all that there ever were. */
    let next = this.#dropped;
    for (;;) {
      next = Math.max(next, this.#dropped);
      const kept = this.#kept[this.#start + next - this.#dropped];
      if (kept !== undefined) {
        next++;
        yield kept.event;
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  #drop(): void {
    this.#bytes -= (this.#kept[this.#start] as Kept<E>).bytes;
    this.#start++;
    this.#dropped++;
    // The array is cut back when half of it is unused, so that a record costs constant time.
    if (this.#start * 2 < this.#kept.length) return;
    this.#kept = this.#kept.slice(this.#start);
    this.#start = 0;
  }
}
