// Limits failed sign-ins by the client's address: a burst, then one attempt every few seconds.

import type { Clock } from '#machinery/clock.ts';

/** The number of failures at once. */
const BURST = 10;
/** The time after which one failure is forgotten, in ms. */
const REFILL_MS = 6000;
const MAX_ADDRESSES = 10_000;

interface Bucket {
  failures: number;
  sinceMs: number;
}

export class FailureLimit {
  readonly #clock: Clock;
  /** By address, least recently failed first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Begins an attempt, which counts as failed until `succeeded`: so many attempts at once are
   * limited, too. Returns the seconds to wait if it may not be made now, otherwise 0.
   */
  attempt(address: string): number {
    const key = networkOf(address);
    const bucket = this.#buckets.get(key) ?? { failures: 0, sinceMs: this.#clock.monotonic() };
    this.#refill(bucket);
    if (bucket.failures >= BURST) return Math.ceil(REFILL_MS / 1000);
    bucket.failures++;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > MAX_ADDRESSES)
      this.#buckets.delete(this.#buckets.keys().next().value!);
    return 0;
  }

  succeeded(address: string): void {
    const bucket = this.#buckets.get(networkOf(address));
    if (bucket !== undefined && bucket.failures > 0) bucket.failures--;
  }

  #refill(bucket: Bucket): void {
    const now = this.#clock.monotonic();
    const forgotten = Math.floor((now - bucket.sinceMs) / REFILL_MS);
    if (forgotten === 0) return;
    bucket.failures = Math.max(0, bucket.failures - forgotten);
    bucket.sinceMs += forgotten * REFILL_MS;
  }
}

/** Returns the address, or for IPv6 the first four groups: one client often has all of a /64. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = ''] = address.split('::', 1);
  return head.split(':').slice(0, 4).join(':');
}
