// Leases, which make keys go by themselves. One for each key would be dear, so keys that are written within a short while and
// are to live equally long share one, which lives that while longer.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { EtcdConnection } from './connection.ts';
import { detailsOf } from './errors.ts';

export interface LeasePoolConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly random: Random;
  /** How long a lease takes new keys, at most; never longer than a twentieth of their time. Default: one minute. */
  readonly sharedMs?: number;
  /** How many keys share a lease at most, so that its end is no avalanche. Default: 1000. */
  readonly maxKeys?: number;
}

interface Bucket {
  readonly id: Promise<number>;
  readonly until: number;
  keys: number;
}

const SHARED_MS = 60_000;
const MAX_KEYS = 1000;
/** Exact in a JavaScript number. */
const MAX_ID = 2 ** 52;

export class LeasePool {
  readonly #config: LeasePoolConfig;
  /** By time to live. */
  readonly #buckets = new Map<number, Bucket>();

  constructor(config: LeasePoolConfig) {
    this.#config = config;
  }

  /** The lease for one more key. It lasts for `ttlMs` from now at least, and a twentieth (and part of a second) longer at most. */
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

  /** For a lease that etcd does not know any more: it is not given out again. */
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
    // The number is chosen here, so that a grant whose answer was lost is made once, however often it is sent.
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
