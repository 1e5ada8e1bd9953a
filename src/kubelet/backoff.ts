// Exponential back-off per key (a container, an image): how long to wait before the next try. The
// semantics are those of client-go's flowcontrol.Backoff, as the kubelet uses it.

import type { Clock } from '#machinery/clock.ts';

interface Entry {
  delayMs: number;
  /** Wall-clock time of the last try, milliseconds. */
  lastUpdate: number;
}

export class Backoff {
  readonly #clock: Clock;
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, initialMs: number, maxMs: number) {
    this.#clock = clock;
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
  }

  /** The current delay of the key, 0 if it has none. */
  get(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /**
   * When the key may be tried again (wall-clock milliseconds), or undefined if it may be now.
   * `eventTime` is when what is backed off from happened: a container's end, or the last try.
   */
  blockedUntil(key: string, eventTime: number): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#hasExpired(entry, eventTime)) return undefined;
    const until = eventTime + entry.delayMs;
    return this.#clock.now() < until ? until : undefined;
  }

  /** As blockedUntil, but counted from the last try. */
  blockedSinceUpdate(key: string): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const until = entry.lastUpdate + entry.delayMs;
    return this.#clock.now() < until ? until : undefined;
  }

  /**
   * A try is made now: the next one waits for the initial delay, or twice as long as this one had
   * to.
   */
  next(key: string, eventTime: number): void {
    const now = this.#clock.now();
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#hasExpired(entry, eventTime)) {
      this.#entries.set(key, { delayMs: this.#initialMs, lastUpdate: now });
    } else {
      entry.delayMs = Math.min(entry.delayMs * 2, this.#maxMs);
      entry.lastUpdate = now;
    }
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets every key that starts so (those of a pod that is gone). */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** A container that has run for twice the longest delay starts with the shortest again. */
  #hasExpired(entry: Entry, eventTime: number): boolean {
    return eventTime - entry.lastUpdate > 2 * this.#maxMs;
  }
}
