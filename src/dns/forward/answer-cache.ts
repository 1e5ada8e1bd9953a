// The answers of upstream servers, kept for as long as their TTLs and the settings allow.

import type { Clock } from '#machinery/clock.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { type CacheLimits, type CacheSettings, limitedTtl, limitsFor } from '../configuration.ts';
import { readLabels } from '../wire/names.ts';
import { FLAG, RCODE } from '../wire/types.ts';

/** An answer without the OPT record of the upstream server. */
export interface UpstreamRecords {
  readonly rcode: number;
  /** The flags RA, AD and TC of the upstream server. */
  readonly flags: number;
  /** The records, encoded for a message whose question ends where the query's question ends. */
  readonly bytes: Buffer;
  readonly counts: readonly [number, number, number];
  /** Offsets of TTLs in `bytes`. */
  readonly ttlOffsets: readonly number[];
}

interface Entry extends UpstreamRecords {
  readonly limits: CacheLimits;
  /** The time of storage, in monotonic milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
}

export type CacheKind = 'success' | 'denial';

/** Larger answers are not cached. */
const MAX_CACHED_BYTES = 2048;

export class AnswerCache {
  readonly #settings: CacheSettings;
  readonly #clock: Clock;
  readonly #entries: Readonly<Record<CacheKind, LruCache<string, Entry>>>;

  constructor(settings: CacheSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#entries = {
      success: new LruCache({ capacity: settings.success.entries }),
      denial: new LruCache({ capacity: settings.denial.entries }),
    };
  }

  get sizes(): Readonly<Record<CacheKind, number>> {
    return { success: this.#entries.success.size, denial: this.#entries.denial.size };
  }

  /** Returns a copy with the remaining TTLs; undefined if there is none. */
  get(key: string): { readonly answer: UpstreamRecords; readonly kind: CacheKind } | undefined {
    const now = this.#clock.monotonic();
    for (const kind of ['success', 'denial'] as const) {
      const entry = this.#entries[kind].get(key);
      if (entry === undefined || now >= entry.expiresAt) continue;
      const age = Math.floor((now - entry.storedAt) / 1000);
      return {
        answer: withTtls(entry, (ttl) => Math.max(0, limitedTtl(ttl, entry.limits) - age)),
        kind,
      };
    }
    return undefined;
  }

  /**
   * Caches an answer. `ttl`: the least of its records, in seconds. Returns a copy whose TTLs are
   * limited as those of the cache, so that clients do not keep it for longer.
   */
  keep(key: string, question: Buffer, answer: UpstreamRecords, ttl: number): UpstreamRecords {
    const kind = answer.rcode === RCODE.NOERROR && answer.counts[0] > 0 ? 'success' : 'denial';
    const limits = this.#limitsFor(question, kind);
    if (limits === undefined) return answer;
    this.#remember(key, kind, answer, this.#secondsOf(answer.rcode, ttl, limits));
    return withTtls(answer, (each) => limitedTtl(each, limits));
  }

  /** Caches that no server answers, for this time at most. */
  keepSilence(key: string, question: Buffer, answer: UpstreamRecords, seconds: number): void {
    if (this.#limitsFor(question, 'denial') !== undefined)
      this.#remember(key, 'denial', answer, seconds);
  }

  #secondsOf(rcode: number, ttl: number, limits: CacheLimits): number {
    if (rcode === RCODE.SERVFAIL) return this.#settings.failureTtl;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return 0;
    return limitedTtl(ttl, limits);
  }

  /** Returns the limits for the answer to a question; undefined if it is not cached. */
  #limitsFor(question: Buffer, kind: CacheKind): CacheLimits | undefined {
    const { zones, [kind]: limits } = this.#settings;
    // All names, as nearly always: the question's need not be read.
    if (limits.except.length === 0 && zones.some((zone) => zone.length === 0)) return limits;
    return limitsFor(this.#settings, kind, readLabels(question, 0));
  }

  #remember(key: string, kind: CacheKind, answer: UpstreamRecords, seconds: number): void {
    const truncated = (answer.flags & FLAG.TC) !== 0;
    if (seconds <= 0 || truncated || answer.bytes.length > MAX_CACHED_BYTES) return;
    const storedAt = this.#clock.monotonic();
    const limits = this.#settings[kind];
    const entry: Entry = { ...answer, limits, storedAt, expiresAt: storedAt + seconds * 1000 };
    this.#entries[kind].set(key, entry);
    // The other cache must not keep an older answer for longer.
    const other = this.#entries[kind === 'success' ? 'denial' : 'success'];
    if (other.peek(key) !== undefined) other.set(key, { ...entry, expiresAt: 0 });
  }
}

function withTtls(answer: UpstreamRecords, change: (ttl: number) => number): UpstreamRecords {
  const bytes = Buffer.from(answer.bytes);
  for (const offset of answer.ttlOffsets)
    bytes.writeUInt32BE(change(bytes.readUInt32BE(offset)), offset);
  return { ...answer, bytes };
}
