// Exponential back-off per key (a container, an image): the delay before the next attempt. The
// semantics are those of client-go's flowcontrol.Backoff, as the kubelet uses it.

import type { Clock } from '#machinery/clock.ts';

interface Entry {
  readonly delayMs: number;
  /** The wall-clock time of the last attempt, in milliseconds. */
  readonly lastUpdate: number;
  /** The same on the monotonic clock, which nothing sets back. */
  readonly updatedAt: number;
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

  /** Returns the current delay of the key in milliseconds; 0 if it has none. */
  get(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /**
   * Returns when the key may be retried (wall-clock milliseconds); undefined if it may be now.
   * `eventTime`: the time of the failure: a container's end, or the last attempt.
   */
  blockedUntil(key: string, eventTime: number): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#hasExpired(entry, eventTime)) return undefined;
    const sinceEvent = this.#clock.now() - eventTime;
    // An event in the future: the wall clock was set back. The last attempt was before the event.
    return this.#blockedFor(entry, sinceEvent < 0 ? this.#sinceUpdate(entry) : sinceEvent);
  }

  /** Returns the same as blockedUntil, counted from the last attempt. */
  blockedSinceUpdate(key: string): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    return this.#blockedFor(entry, this.#sinceUpdate(entry));
  }

  #sinceUpdate({ updatedAt }: Entry): number {
    return this.#clock.monotonic() - updatedAt;
  }

  /** Returns when the delay ends, of which a part is over; undefined if all of it is. */
  #blockedFor({ delayMs }: Entry, elapsedMs: number): number | undefined {
    return elapsedMs < delayMs ? this.#clock.now() + delayMs - elapsedMs : undefined;
  }

  /** Records an attempt: the next one waits for the initial delay, or twice the previous one. */
  next(key: string, eventTime: number): void {
    const times = { lastUpdate: this.#clock.now(), updatedAt: this.#clock.monotonic() };
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#hasExpired(entry, eventTime)) {
      this.#entries.set(key, { delayMs: this.#initialMs, ...times });
    } else {
      const delayMs = Math.min(entry.delayMs * 2, this.#maxMs);
      this.#entries.set(key, { delayMs, ...times });
    }
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Removes every key with this prefix, such as those of a deleted pod. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** A container that has run for twice the maximum delay starts with the initial delay again. */
  #hasExpired(entry: Entry, eventTime: number): boolean {
    return eventTime - entry.lastUpdate > 2 * this.#maxMs;
  }
}
