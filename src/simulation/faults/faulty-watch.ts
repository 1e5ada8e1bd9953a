// A watch whose events faults may hold back, repeat, leave out or end. Without such faults each event passes as it is.

import type { EncodedWatchEvent } from '#apiserver/request.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { Call } from './call.ts';

type Event = EncodedWatchEvent;
type Result = IteratorResult<Event, undefined>;

/** How a watch ends: normally, with an event of the type ERROR, or with an error in place of events. */
export type WatchEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'error'; readonly error: Error };

/** The fate of one event. */
export type EventFate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'repeat' }
  | { readonly kind: 'lose' }
  | { readonly kind: 'end'; readonly end: WatchEnd };

export interface WatchFaults {
  /** Events pass without a look at them. */
  readonly idle: boolean;
  /** Decides about an event, and waits as long as it is held back. `stopped` aborts when the watch has ended. */
  fateOf(call: Call, event: Event, stopped: AbortSignal): EventFate | Promise<EventFate>;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
const NONE: readonly never[] = [];

/**
 * For one consumer, as every watch. Events keep their order: while one is held back, those behind it wait in the
 * source.
 */
export class FaultyWatch implements WatchStream<Event> {
  readonly call: Call;
  readonly #source: WatchStream<Event>;
  readonly #faults: WatchFaults;
  readonly #stopped = new AbortController();
  readonly #onEnd: (watch: FaultyWatch) => void;
  /** Delivered before the source is asked again. */
  #next: Event | undefined;
  #end: WatchEnd | undefined;

  constructor(
    call: Call,
    source: WatchStream<Event>,
    faults: WatchFaults,
    onEnd: (watch: FaultyWatch) => void,
  ) {
    this.call = call;
    this.#source = source;
    this.#faults = faults;
    this.#onEnd = onEnd;
  }

  stop(): void {
    this.#finish({ kind: 'closed' });
  }

  /** Ends the watch from the server's side. Its consumer gets nothing more but this end. */
  cut(end: WatchEnd): void {
    this.#finish(end);
  }

  drain(): readonly Event[] {
    if (!this.#faults.idle || this.#next !== undefined || this.#end !== undefined) return NONE;
    return this.#source.drain?.() ?? NONE;
  }

  [Symbol.asyncIterator](): AsyncIterator<Event, undefined> {
    const events = this.#source[Symbol.asyncIterator]();
    const take = (result: Result): Result | Promise<Result> => {
      if (this.#end !== undefined) return this.#ended();
      if (result.done === true) {
        this.#finish({ kind: 'closed' });
        return this.#ended();
      }
      return this.#faults.idle ? result : this.#decide(result.value, next);
    };
    const next = (): Promise<Result> => {
      const repeated = this.#next;
      if (repeated !== undefined) {
        this.#next = undefined;
        return Promise.resolve({ done: false, value: repeated });
      }
      if (this.#end !== undefined) return Promise.resolve().then(() => this.#ended());
      return events.next().then(take, (error: unknown) => {
        // A source that is stopped may fail in its own way; the end that was chosen counts.
        if (this.#end !== undefined) return this.#ended();
        this.#finish({ kind: 'closed' });
        throw error;
      });
    };
    return {
      next,
      return: async () => {
        this.stop();
        await events.return?.();
        return DONE;
      },
    };
  }

  async #decide(event: Event, next: () => Promise<Result>): Promise<Result> {
    const fate = await this.#faults.fateOf(this.call, event, this.#stopped.signal);
    // It may have been cut while the event was held back.
    if (this.#end !== undefined) return this.#ended();
    switch (fate.kind) {
      case 'pass':
        return { done: false, value: event };
      case 'repeat':
        this.#next = event;
        return { done: false, value: event };
      case 'lose':
        return next();
      case 'end':
        this.#finish(fate.end);
        return this.#ended();
    }
  }

  /** The result for a watch that has ended. An error is given once. */
  #ended(): Result {
    const end = this.#end;
    this.#end = { kind: 'closed' };
    if (end?.kind === 'event') return { done: false, value: end.event };
    if (end?.kind === 'error') throw end.error;
    return DONE;
  }

  #finish(end: WatchEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#next = undefined;
    this.#stopped.abort();
    this.#source.stop();
    this.#onEnd(this);
  }
}
