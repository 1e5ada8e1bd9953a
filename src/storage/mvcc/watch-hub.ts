// All watchers, indexed by prefix: an event is offered only to the watchers of the prefixes of its
// key, however many others there are. All watchers share one event object.

import { type Clock, setPoll, type Timer } from '#machinery/clock.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import { type Revision, StorageError, type StorageEvent } from '../interface.ts';
import { type ChangeEvent, keyOf } from './store.ts';

interface Watcher {
  readonly queue: WatchQueue<StorageEvent>;
  /** The watcher gets only events after this revision. */
  readonly afterRevision: Revision;
  progressTimer: Timer | undefined;
}

export interface WatchHubConfig {
  readonly clock: Clock;
  /**
   * The number of events that may wait for a watcher beyond the past events that it asked for. One
   * more cuts it off.
   */
  readonly bufferEvents: number;
  /** Returns the latest published revision. */
  readonly currentRevision: () => Revision;
}

export interface SubscribeOptions {
  readonly afterRevision: Revision;
  /** Past events, which are delivered first. */
  readonly replay: readonly ChangeEvent[];
  readonly progressIntervalMs: number | undefined;
  /** See WatchOptions. */
  readonly progressWanted?: (() => boolean) | undefined;
  readonly progressTopic?: string;
  /** The first progress is sent when the promise settles. Absent: at once. */
  readonly ready?: Promise<unknown>;
}

export class WatchHub {
  readonly #config: WatchHubConfig;
  /** The watchers by prefix. No set is empty, and every prefix ends in '/'. */
  readonly #byPrefix = new Map<string, Set<Watcher>>();

  constructor(config: WatchHubConfig) {
    this.#config = config;
  }

  subscribe(prefix: string, options: SubscribeOptions): WatchStream<StorageEvent> {
    const { bufferEvents, currentRevision, clock } = this.#config;
    const queue = new WatchQueue<StorageEvent>({
      limit: options.replay.length + bufferEvents,
      onOverflow: (overflowing) => {
        overflowing.fail(
          new StorageError(
            'SlowWatcher',
            `the watch of ${prefix} did not keep up: ${overflowing.length} events were waiting for it`,
          ),
        );
        this.#remove(prefix, watcher);
      },
      onStop: () => this.#remove(prefix, watcher),
    });
    const watcher: Watcher = {
      queue,
      afterRevision: options.afterRevision,
      progressTimer: undefined,
    };
    const watchers = this.#byPrefix.get(prefix);
    if (watchers === undefined) this.#byPrefix.set(prefix, new Set([watcher]));
    else watchers.add(watcher);
    for (const event of options.replay) queue.push(event);
    if (options.progressIntervalMs !== undefined) {
      const sendProgress = (): void => {
        const revision = currentRevision();
        if (revision >= watcher.afterRevision) queue.push({ type: 'progress', revision });
      };
      if (options.ready === undefined) sendProgress();
      else void options.ready.then(sendProgress, sendProgress);
      const again = (): void => {
        // A consumer that has events to read is not idle, and must not drown in progress.
        if (queue.length === 0) sendProgress();
      };
      const { progressTopic: topic, progressWanted = () => true } = options;
      watcher.progressTimer =
        topic === undefined
          ? clock.setInterval(options.progressIntervalMs, again)
          : setPoll(clock, options.progressIntervalMs, again, { topic, mustRun: progressWanted });
    }
    return queue;
  }

  publish(event: ChangeEvent): void {
    if (this.#byPrefix.size === 0) return;
    const key = keyOf(event);
    for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
      const watchers = this.#byPrefix.get(key.slice(0, slash + 1));
      if (watchers === undefined) continue;
      for (const watcher of watchers)
        if (event.revision > watcher.afterRevision) watcher.queue.push(event);
    }
  }

  /** Ends every watch with this error, after its unread events. */
  failAll(error: StorageError): void {
    for (const [prefix, watchers] of this.#byPrefix) {
      for (const watcher of watchers) {
        watcher.queue.fail(error);
        this.#remove(prefix, watcher);
      }
    }
  }

  #remove(prefix: string, watcher: Watcher): void {
    watcher.progressTimer?.cancel();
    const watchers = this.#byPrefix.get(prefix);
    if (watchers?.delete(watcher) && watchers.size === 0) this.#byPrefix.delete(prefix);
  }
}
