// A watch: an ordered stream of events with an explicit end. Producers push, one consumer iterates.

import { Fifo } from './collections/fifo.ts';

/** A stream of events, in order. The iteration completes when the producer closes the stream normally. */
export interface WatchStream<E> extends AsyncIterable<E> {
  /** Stops the watch and releases what it holds; iteration then completes. Idempotent. */
  stop(): void;
  /**
   * Takes events that wait already, the oldest first. A consumer that has received one event from the iterator, and has not asked for the
   * next, need not await each of those that came together with it. Of many events it takes a part, so that consumers of the same
   * events stay close to each other. Ends and errors come from the iterator alone. Absent: it cannot.
   */
  drain?(): readonly E[];
}

/** Calls back for each event, until the stream ends. Rejects with what ends it otherwise, or with what the callback throws, which stops it. */
export async function forEachEvent<E>(
  stream: WatchStream<E>,
  take: (event: E) => void,
): Promise<void> {
  for await (const event of stream) {
    take(event);
    if (stream.drain !== undefined) for (const next of stream.drain()) take(next);
  }
}

/** The types of an API watch event on the wire. */
export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** How a queue ends whose consumer did not keep up, unless its producer chose another error. */
export class WatchOverflowError extends Error {
  constructor(limit: number) {
    super(`watch: the consumer did not keep up, more than ${limit} events are waiting`);
    this.name = 'WatchOverflowError';
  }
}

export interface WatchQueueConfig<E> {
  /** How many events may wait for the consumer. Default: no limit. */
  readonly limit?: number;
  /**
   * Called once, when an event does not fit. The queue ends then, since a watch must not have gaps: call `queue.fail(err)` in
   * it to choose the error (default: WatchOverflowError). The consumer still gets the events that did fit.
   */
  readonly onOverflow?: (queue: WatchQueue<E>) => void;
  /** Called once, when the consumer stops the watch or leaves its loop. Not called when the producer ends the queue. */
  readonly onStop?: () => void;
}

type End = { readonly error: unknown } | 'closed';

interface Waiter<E> {
  readonly resolve: (result: IteratorResult<E, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
const NONE: readonly never[] = [];
/** Events that are drained at a time. */
const MAX_DRAINED = 64;

/**
 * The producer's side of a WatchStream: what is pushed comes out in order, then the end that the producer gave (`close`:
 * iteration completes; `fail`: it throws, once). For one consumer: a second iterator is a programmer's error.
 */
export class WatchQueue<E> implements WatchStream<E> {
  readonly #limit: number;
  readonly #onOverflow: ((queue: WatchQueue<E>) => void) | undefined;
  readonly #onStop: (() => void) | undefined;
  /** Events not yet taken. Empty while a consumer waits. */
  readonly #buffer = new Fifo<E>();
  /** Calls of next() that found nothing, oldest first. */
  #waiters: Waiter<E>[] = [];
  /** Set once; nothing is pushed afterwards. */
  #end: End | undefined;
  #iterated = false;

  constructor(config: WatchQueueConfig<E> = {}) {
    this.#limit = config.limit ?? Number.POSITIVE_INFINITY;
    this.#onOverflow = config.onOverflow;
    this.#onStop = config.onStop;
  }

  /** True once the queue was closed, failed or stopped; what was pushed before may still be waiting. */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Events that wait for the consumer. */
  get length(): number {
    return this.#buffer.length;
  }

  /** False if the event was not taken: the queue has ended, maybe by this very event (see onOverflow). */
  push(event: E): boolean {
    if (this.#end !== undefined) return false;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: event });
      return true;
    }
    if (this.length >= this.#limit) {
      this.#onOverflow?.(this);
      this.fail(new WatchOverflowError(this.#limit));
      return false;
    }
    this.#buffer.push(event);
    return true;
  }

  /** The normal end: iteration completes after what was pushed. Does nothing if the queue has ended. */
  close(): void {
    this.#finish('closed');
  }

  /** The end by an error, which iteration throws after what was pushed. Does nothing if the queue has ended. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  /** The consumer's end: what was pushed and not taken is dropped. */
  stop(): void {
    this.#buffer.clear();
    if (this.#end !== undefined) {
      this.#end = 'closed';
      return;
    }
    this.#finish('closed');
    this.#onStop?.();
  }

  drain(): readonly E[] {
    if (this.length === 0) return NONE;
    const events: E[] = [];
    for (let count = Math.min(this.length, MAX_DRAINED); count > 0; count--)
      events.push(this.#buffer.shift() as E);
    return events;
  }

  [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
    if (this.#iterated) throw new Error('a watch has one consumer: it is being iterated already');
    this.#iterated = true;
    return {
      next: () => this.#next(),
      return: () => {
        this.stop();
        return Promise.resolve(DONE);
      },
    };
  }

  #next(): Promise<IteratorResult<E, undefined>> {
    if (this.length > 0) return Promise.resolve({ done: false, value: this.#buffer.shift() as E });
    if (this.#end === undefined)
      return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
    const end = this.#end;
    // An error is thrown once. Afterwards the iteration is complete.
    this.#end = 'closed';
    return end === 'closed' ? Promise.resolve(DONE) : Promise.reject(end.error);
  }

  #finish(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const waiters = this.#waiters;
    this.#waiters = [];
    waiters.forEach((waiter, index) => {
      if (index === 0 && end !== 'closed') {
        this.#end = 'closed';
        waiter.reject(end.error);
      } else waiter.resolve(DONE);
    });
  }
}

/**
 * A stream of what `map` makes of each event of `source`; those for which it answers undefined are left out. If `map`
 * throws, the source is stopped and iteration throws that error. Stopping this stream stops the source.
 */
export function mapWatch<E, R>(
  source: WatchStream<E>,
  map: (event: E) => R | undefined,
): WatchStream<R> {
  /** The error that `map` threw while events were drained. The next call of the iterator throws it. */
  let failure: { readonly error: unknown } | undefined;
  const applyOrStop = (event: E): R | undefined => {
    try {
      return map(event);
    } catch (error) {
      source.stop();
      throw error;
    }
  };
  return {
    stop: () => source.stop(),
    ...(source.drain !== undefined && {
      drain: () => {
        const mapped: R[] = [];
        try {
          for (const event of (source.drain as () => readonly E[])()) {
            const value = applyOrStop(event);
            if (value !== undefined) mapped.push(value);
          }
        } catch (error) {
          failure = { error };
        }
        return mapped;
      },
    }),
    [Symbol.asyncIterator](): AsyncIterator<R, undefined> {
      const events = source[Symbol.asyncIterator]();
      const answer = (
        result: IteratorResult<E, undefined>,
      ): IteratorResult<R, undefined> | undefined => {
        if (result.done === true) return DONE;
        const value = applyOrStop(result.value);
        return value === undefined ? undefined : { done: false, value };
      };
      const nextOfMany = async (): Promise<IteratorResult<R, undefined>> => {
        for (;;) {
          const answered = answer(await events.next());
          if (answered !== undefined) return answered;
        }
      };
      // By hand rather than as a generator, whose return() would wait for the event that next() waits for.
      return {
        next() {
          if (failure !== undefined) {
            const { error } = failure;
            failure = undefined;
            return Promise.reject(error);
          }
          // Hardly ever is one left out.
          return events.next().then((result) => answer(result) ?? nextOfMany());
        },
        return() {
          source.stop();
          return Promise.resolve(DONE);
        },
      };
    },
  };
}

/**
 * The same stream, with `end` called when it ends, however that is: it is stopped, its consumer leaves, it completes or fails. `end` stops
 * the source and may be called several times.
 */
export function endedBy<E>(source: WatchStream<E>, end: () => void): WatchStream<E> {
  return {
    stop: end,
    ...(source.drain !== undefined && { drain: () => (source.drain as () => readonly E[])() }),
    [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
      const events = source[Symbol.asyncIterator]();
      // By hand, as every event of every watcher passes here.
      const passOn = (result: IteratorResult<E, undefined>): IteratorResult<E, undefined> => {
        if (result.done === true) end();
        return result;
      };
      const failed = (error: unknown): never => {
        end();
        throw error;
      };
      return {
        next: () => events.next().then(passOn, failed),
        return: async () => {
          end();
          await events.return?.();
          return DONE;
        },
      };
    },
  };
}
