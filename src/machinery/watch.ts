// A watch: an ordered stream of events with an explicit end. Producers push, one consumer iterates.

/** What a WatchStream yields, in order. The stream ends (iteration completes) when the producer closes it normally. */
export interface WatchStream<E> extends AsyncIterable<E> {
  /** Stops the watch and releases what it holds; iteration then completes. Idempotent. */
  stop(): void;
}

/** The types of an API watch event on the wire. */
export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
