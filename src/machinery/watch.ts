// A watch: an ordered stream of events with an explicit end. Producers push; one consumer iterates.

import { Fifo } from './collections/fifo.ts';

/**
 * An ordered stream of events. The iteration completes when the producer closes the stream
 * normally.
 */
export interface WatchStream<E> extends AsyncIterable<E> {
  /** Stops the watch and releases its resources. The iteration then completes. Idempotent. */
  stop(): void;
  /**
   * Returns events that are already waiting, oldest first. A consumer that has received one event
   * from the iterator, and has not asked for the next, need not await the events that arrived
   * together with it. A long backlog is returned in parts, so that consumers of the same events
   * stay close to each other. Ends and errors come from the iterator alone. Optional.
   */
  drain?(): readonly E[];
  /**
   * Starts to read the stream without promises, instead of iterating it. `ready`: called once after
   * each `rearm` that returned true, when an event arrives or the stream ends; it must not throw,
   * and must not read in the call. Optional.
   */
  read?(ready: () => void): WatchReader<E>;
}

/** Reads a stream that may have thousands of consumers: an event costs a consumer no promise. */
export interface WatchReader<E> {
  /** Returns waiting events, oldest first, as `drain` does: a long backlog in parts. */
  take(): readonly E[];
  /**
   * Returns false if events or the end are waiting. Otherwise returns true, and `ready` will be
   * called.
   */
  rearm(): boolean;
  /** Returns the end of the stream once all events were taken; undefined before. */
  end(): WatchEnd | undefined;
}

/** The end of a stream: normal, or with an error. */
export type WatchEnd = { readonly error: unknown } | 'closed';

/**
 * Calls `take` for each event until the stream ends. Rejects with the error of the stream, or with
 * the error of `take`, which stops the stream.
 */
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

/** The error of a queue whose consumer did not keep up, unless the producer chose another one. */
export class WatchOverflowError extends Error {
  constructor(limit: number) {
    super(`watch: the consumer did not keep up, more than ${limit} events are waiting`);
    this.name = 'WatchOverflowError';
  }
}

export interface WatchQueueConfig<E> {
  /** The number of events that may wait for the consumer. Default: no limit. */
  readonly limit?: number;
  /**
   * Called once, when an event exceeds the limit. The queue then ends, since a watch must not have
   * gaps. `queue.fail(err)` in this callback chooses the error (default: WatchOverflowError). The
   * consumer still gets the events within the limit.
   */
  readonly onOverflow?: (queue: WatchQueue<E>) => void;
  /**
   * Called once, when the consumer stops the watch or leaves its loop. Not called when the producer
   * ends the queue.
   */
  readonly onStop?: () => void;
}

interface Waiter<E> {
  readonly resolve: (result: IteratorResult<E, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
const NONE: readonly never[] = [];
/** The number of events that one `drain` returns at most. */
const MAX_DRAINED = 64;

/**
 * The producer's side of a WatchStream. Pushed events come out in order, then the producer's end:
 * after `close` the iteration completes, after `fail` it throws once. A queue has one consumer; a
 * second iterator is a programming error.
 */
export class WatchQueue<E> implements WatchStream<E> {
  readonly #limit: number;
  readonly #onOverflow: ((queue: WatchQueue<E>) => void) | undefined;
  readonly #onStop: (() => void) | undefined;
  /** Events that the consumer has not taken. Empty while a consumer waits. */
  readonly #buffer = new Fifo<E>();
  /** Pending calls of next(), oldest first. */
  #waiters: Waiter<E>[] = [];
  /** Set once. Nothing is pushed afterwards. */
  #end: WatchEnd | undefined;
  #iterated = false;
  /** Called for the next event or the end, when the consumer reads without promises and waits. */
  #armed: (() => void) | undefined;

  constructor(config: WatchQueueConfig<E> = {}) {
    this.#limit = config.limit ?? Number.POSITIVE_INFINITY;
    this.#onOverflow = config.onOverflow;
    this.#onStop = config.onStop;
  }

  /**
   * True once the queue was closed, failed or stopped. Events pushed before may still be waiting.
   */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** The number of events that wait for the consumer. */
  get length(): number {
    return this.#buffer.length;
  }

  /**
   * Adds an event. Returns false if the queue does not accept it: the queue has ended, perhaps by
   * this event (see onOverflow).
   */
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
    this.#notify();
    return true;
  }

  /**
   * Ends the queue normally: the iteration completes after the pushed events. Does nothing if the
   * queue has ended.
   */
  close(): void {
    this.#finish('closed');
  }

  /**
   * Ends the queue with an error, which the iteration throws after the pushed events. Does nothing
   * if the queue has ended.
   */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  /** Ends the queue for the consumer: events that were not taken are dropped. */
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

  read(ready: () => void): WatchReader<E> {
    this.#claim();
    return {
      take: () => this.drain(),
      rearm: () => {
        if (this.length > 0 || this.#end !== undefined) return false;
        this.#armed = ready;
        return true;
      },
      end: () => (this.length > 0 ? undefined : this.#end),
    };
  }

  #claim(): void {
    if (this.#iterated)
      throw new Error('a watch has only one consumer: it is already being iterated');
    this.#iterated = true;
  }

  #notify(): void {
    const ready = this.#armed;
    if (ready === undefined) return;
    this.#armed = undefined;
    ready();
  }

  [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
    this.#claim();
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
    // The error is thrown once. Afterwards the iteration is complete.
    this.#end = 'closed';
    return end === 'closed' ? Promise.resolve(DONE) : Promise.reject(end.error);
  }

  #finish(end: WatchEnd): void {
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
    this.#notify();
  }
}

/**
 * Returns a stream of the results of `map`, without those that are undefined. If `map` throws, the
 * source is stopped and the iteration throws that error. Stopping this stream stops the source.
 */
export function mapWatch<E, R>(
  source: WatchStream<E>,
  map: (event: E) => R | undefined,
): WatchStream<R> {
  /** The error that `map` threw during `drain`. The next call of the iterator throws it. */
  let failure: { readonly error: unknown } | undefined;
  const applyOrStop = (event: E): R | undefined => {
    try {
      return map(event);
    } catch (error) {
      source.stop();
      throw error;
    }
  };
  const mapAll = (events: readonly E[]): readonly R[] => {
    const mapped: R[] = [];
    try {
      for (const event of events) {
        const value = applyOrStop(event);
        if (value !== undefined) mapped.push(value);
      }
    } catch (error) {
      failure = { error };
    }
    return mapped;
  };
  return {
    stop: () => source.stop(),
    ...(source.drain !== undefined && {
      drain: () => mapAll((source.drain as () => readonly E[])()),
    }),
    ...(source.read !== undefined && {
      read: (ready: () => void) => {
        const reader = (source.read as (ready: () => void) => WatchReader<E>)(ready);
        return {
          take: () => (failure === undefined ? mapAll(reader.take()) : NONE),
          rearm: () => failure === undefined && reader.rearm(),
          end: () => failure ?? reader.end(),
        };
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
      // This is not a generator: the return() of a generator would wait for the event for which
      // next() waits.
      return {
        next() {
          if (failure !== undefined) {
            const { error } = failure;
            failure = undefined;
            return Promise.reject(error);
          }
          // The common case: `map` keeps the event.
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
 * Returns the same stream and calls `end` however the stream ends: it is stopped, its consumer
 * leaves, it completes or fails. `end` stops the source and may be called several times.
 */
export function endedBy<E>(source: WatchStream<E>, end: () => void): WatchStream<E> {
  return {
    stop: end,
    ...(source.drain !== undefined && { drain: () => (source.drain as () => readonly E[])() }),
    ...(source.read !== undefined && {
      read: (ready: () => void) => {
        const reader = (source.read as (ready: () => void) => WatchReader<E>)(ready);
        return {
          take: () => reader.take(),
          rearm: () => reader.rearm(),
          end: () => {
            const ended = reader.end();
            if (ended !== undefined) end();
            return ended;
          },
        };
      },
    }),
    [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
      const events = source[Symbol.asyncIterator]();
      // This is not a generator, since every event of every watcher passes here.
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
