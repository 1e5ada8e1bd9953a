// Leases, which make keys expire. A lease for each key would be expensive. So keys that are written
// within a short time and have the same time to live share one, which lasts longer by that time.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { EtcdConnection } from './connection.ts';
import { detailsOf } from './errors.ts';

export interface LeasePoolConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The maximum time, in ms, for which a lease takes new keys; never longer than a twentieth of
   * their time to live. Default: one minute.
   */
  readonly sharedMs?: number;
  /**
   * The maximum number of keys that share a lease, so that its end does not delete too many at
   * once. Default: 1000.
   */
  readonly maxKeys?: number;
}

interface Bucket {
  readonly id: Promise<number>;
  readonly until: number;
  keys: number;
}

const SHARED_MS = 60_000;
const MAX_KEYS = 1000;
/** Ids stay exact in a JavaScript number. */
const MAX_ID = 2 ** 52;

export class LeasePool {
  readonly #config: LeasePoolConfig;
  /** The current lease for each time to live, in ms. */
  readonly #buckets = new Map<number, Bucket>();

  constructor(config: LeasePoolConfig) {
    this.#config = config;
  }

  /**
   * Returns the lease for one more key. It lasts at least `ttlMs` from now, and at most a twentieth
   * (plus part of a second) longer.
   */
  async leaseFor(ttlMs: number): Promise<number> {
    const now = this.#config.clock.monotonic();
    let bucket = this.#buckets.get(ttlMs);
    if (
      bucket === undefined ||
      now >= bucket.until ||
      bucket.keys >= (this.#config.maxKeys ?? MAX_KEYS)
    ) {
      const sharedMs = Math.min(this.#config.sharedMs ?? SHARED_MS, ttlMs / 20);
      const created: Bucket = {
        id: this.#grant(Math.ceil((ttlMs + sharedMs) / 1000)),
        until: now + sharedMs,
        keys: 0,
      };
      bucket = created;
      this.#buckets.set(ttlMs, created);
      created.id.catch(() => {
        if (this.#buckets.get(ttlMs) === created) this.#buckets.delete(ttlMs);
      });
    }
    bucket.keys++;
    return await bucket.id;
  }

  /** Forgets a lease that etcd does not have any more, so that it is not used again. */
  async forget(ttlMs: number, id: number): Promise<void> {
    const bucket = this.#buckets.get(ttlMs);
    if (
      bucket !== undefined &&
      (await bucket.id.catch(() => id)) === id &&
      this.#buckets.get(ttlMs) === bucket
    ) {
      this.#buckets.delete(ttlMs);
    }
  }

  async #grant(ttl: number): Promise<number> {
    // The client chooses the id, so that a grant whose response was lost is made once, however
    // often it is sent.
    const id = 1 + this.#config.random.int(MAX_ID);
    try {
      const granted = await this.#config.connection.read('Lease.LeaseGrant', { ttl, id });
      return granted.id;
    } catch (error) {
      if (detailsOf(error).includes('lease already exists')) return id;
      throw error;
    }
  }
}
