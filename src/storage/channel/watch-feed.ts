// The server's side of one watch of a client. It takes events from the store as long as the
// client has room for them. Otherwise they wait in the store, which ends a watch that falls behind
// (SlowWatcher).

import { nextTurn } from '#machinery/turn.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { Revision, StorageEvent } from '../interface.ts';
import { weightOfEvent, writeEvent } from './events.ts';
import type { FrameWriter } from './frames.ts';
import { END, type Window, writeError } from './protocol.ts';

export interface WatchFeedConfig {
  readonly call: number;
  readonly prefix: string;
  readonly stream: WatchStream<StorageEvent>;
  /** The client asked for progress. */
  readonly progress: boolean;
  readonly window: Window;
  readonly frames: FrameWriter;
  /** Resolves when the channel can take more; undefined while it can. */
  readonly room: () => Promise<void> | undefined;
}

export class WatchFeed {
  readonly #config: WatchFeedConfig;
  /** The events that were sent, and that the client's consumer has not taken. */
  #events = 0;
  #bytes = 0;
  /** The number of events that were ever sent. */
  #sent = 0;
  #isWaiting = false;
  #stopped = false;
  #credited = withResolvers();

  constructor(config: WatchFeedConfig) {
    this.#config = config;
  }

  get prefix(): string {
    return this.#config.prefix;
  }

  /** Runs until the watch ends. Does not reject. */
  async run(): Promise<void> {
    const { stream, frames, call, room } = this.#config;
    try {
      const events = stream[Symbol.asyncIterator]();
      for (;;) {
        this.#isWaiting = true;
        const next = await events.next();
        this.#isWaiting = false;
        if (next.done === true) break;
        this.#send(next.value);
        for (const event of stream.drain?.() ?? []) this.#send(event);
        // A loop, because either may have changed while the other was awaited.
        for (;;) {
          const full = this.#isFull ? this.#credited.promise : room();
          if (full === undefined || this.#stopped) break;
          await full;
        }
      }
      if (!this.#stopped) frames.begin(END, call).end();
    } catch (error) {
      if (!this.#stopped) writeError(frames, call, error);
    }
  }

  /** Records that the client's consumer has taken events. */
  credit(events: number, bytes: number): void {
    this.#events -= events;
    this.#bytes -= bytes;
    this.#wake();
  }

  stop(): void {
    this.#stopped = true;
    this.#config.stream.stop();
    this.#wake();
  }

  /**
   * Sends progress, if all events up to this revision have been sent. `revision`: of a state whose
   * events wait in the stream, or were taken from it.
   */
  async progress(revision: Revision): Promise<void> {
    if (!this.#config.progress) return;
    const sent = this.#sent;
    // Events that wait in the stream reach run() in this turn, unless it waits for the client.
    await nextTurn();
    if (this.#isWaiting && sent === this.#sent && !this.#stopped)
      this.#send({ type: 'progress', revision });
  }

  #send(event: StorageEvent): void {
    if (this.#stopped) return;
    this.#sent++;
    this.#events++;
    this.#bytes += weightOfEvent(event);
    writeEvent(this.#config.frames, this.#config.call, event);
  }

  get #isFull(): boolean {
    const { window } = this.#config;
    return this.#events >= window.events || this.#bytes >= window.bytes;
  }

  #wake(): void {
    const { resolve } = this.#credited;
    this.#credited = withResolvers();
    resolve();
  }
}
