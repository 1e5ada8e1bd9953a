// Sends a watch by iterating it: the plain form, for streams that cannot be read without promises.

import type { WatchStream } from '#machinery/watch.ts';
import type { EncodedWatchEvent, ResponseFormat } from '../request.ts';
import { frameOf } from './watch-frames.ts';
import { type ResponseSink, write } from './response-sink.ts';

/**
 * Sends the events of a watch. Resolves when the stream has ended or the client has disconnected.
 * Rejects with the error of the stream, or of an event that cannot be encoded.
 */
export async function sendIterated(
  sink: ResponseSink,
  events: WatchStream<EncodedWatchEvent>,
  format: ResponseFormat,
): Promise<void> {
  const { writable } = sink;
  let corked = false;
  const uncork = (): void => {
    corked = false;
    writable.uncork();
  };
  const send = (event: EncodedWatchEvent): Promise<void> | undefined => {
    if (!corked) {
      corked = true;
      writable.cork();
      // Runs when no more events are available in this turn.
      process.nextTick(uncork);
    }
    return write(sink, writable, frameOf(event, format));
  };
  for await (const event of events) {
    if (!sink.open) return;
    const waiting = send(event);
    // Events for a slow client wait in its queue, which is bounded.
    if (waiting !== undefined) {
      await waiting;
      continue;
    }
    for (const next of events.drain?.() ?? []) {
      const full = send(next);
      if (full !== undefined) await full;
      if (!sink.open) return;
    }
  }
  writable.end();
}
