// Sends the events of a watch to its client. All watchers of a server are senders that take turns
// (watch-turns.ts). A sender is idle until its stream has events; then it writes those that wait in
// one shared buffer. It writes the next ones when the connection has taken this buffer: so a
// server or a client at its limit has fewer and larger writes, and the events of a client that does
// not read wait in its stream, which is bounded.

import type { Writable } from 'node:stream';
import type { WatchReader, WatchStream } from '#machinery/watch.ts';
import type { EncodedWatchEvent, ResponseFormat } from '../request.ts';
import { sendIterated } from './iterated-watch.ts';
import type { ResponseSink } from './response-sink.ts';
import { FrameJoiner, frameOf } from './watch-frames.ts';
import { WatchTurns, type TurnTaker } from './watch-turns.ts';

/** Shared by the process, as its event loop is. */
const turns = new WatchTurns();
const joiner = new FrameJoiner();
const NO_FRAMES: readonly Uint8Array[] = [];

/**
 * Sends the events of a watch. Resolves when the stream has ended or the client has disconnected.
 * Rejects with the error of the stream, or of an event that cannot be encoded.
 */
export function sendWatch(
  sink: ResponseSink,
  events: WatchStream<EncodedWatchEvent>,
  format: ResponseFormat,
): Promise<void> {
  if (events.read === undefined) return sendIterated(sink, events, format);
  return new Promise((resolve, reject) => {
    new WatchSender(sink, events, format, { resolve, reject }).start();
  });
}

interface Settle {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

class WatchSender implements TurnTaker {
  readonly #sink: ResponseSink;
  readonly #writable: Writable;
  readonly #events: WatchStream<EncodedWatchEvent>;
  readonly #format: ResponseFormat;
  readonly #settle: Settle;
  readonly #reader: WatchReader<EncodedWatchEvent>;
  /** Taken from the stream; those from `#next` on are not written. */
  #frames = NO_FRAMES;
  #next = 0;
  #isOver = false;

  /** `events` can be read. */
  constructor(
    sink: ResponseSink,
    events: WatchStream<EncodedWatchEvent>,
    format: ResponseFormat,
    settle: Settle,
  ) {
    this.#sink = sink;
    this.#writable = sink.writable;
    this.#events = events;
    this.#format = format;
    this.#settle = settle;
    this.#reader = events.read!(() => turns.add(this));
  }

  start(): void {
    this.#writable.on('close', this.#onClose);
    this.#waitForMore();
  }

  readonly #onClose = (): void => this.#over();

  /** The connection has taken the last write, or is closing. */
  readonly #onWritten = (): void => {
    if (this.#isOver) return;
    if (this.#next < this.#frames.length) turns.add(this);
    else this.#waitForMore();
  };

  run(): void {
    // The connection closed while the sender waited for its turn.
    if (this.#isOver) return;
    try {
      this.#send();
    } catch (error) {
      this.#over({ error });
    }
  }

  #send(): void {
    if (!this.#sink.open) {
      this.#over();
      return;
    }
    if (this.#next === this.#frames.length) {
      this.#frames = this.#reader.take().map((event) => frameOf(event, this.#format));
      this.#next = 0;
    }
    if (this.#next < this.#frames.length) {
      const { bytes, count } = joiner.join(this.#frames, this.#next);
      this.#next += count;
      this.#writable.write(bytes, this.#onWritten);
      return;
    }
    this.#frames = NO_FRAMES;
    this.#next = 0;
    const end = this.#reader.end();
    if (end === undefined) this.#waitForMore();
    else if (end === 'closed') {
      this.#over();
      this.#writable.end();
    } else this.#over(end);
  }

  #waitForMore(): void {
    if (!this.#reader.rearm()) turns.add(this);
  }

  /** Ends the watch. `failure`: default none. */
  #over(failure?: { readonly error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#frames = NO_FRAMES;
    this.#writable.off('close', this.#onClose);
    this.#events.stop();
    if (failure === undefined) this.#settle.resolve();
    else this.#settle.reject(failure.error);
  }
}
